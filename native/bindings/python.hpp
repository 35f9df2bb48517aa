// Shared helpers of the bindings: type conversion, releasing the GIL, and error mapping.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/held_objects.hpp"
#include "bindings/typed.hpp"
#include "count/runs.hpp"
#include "scan/pattern_names.hpp"
#include "scan/splitter.hpp"
#include "support/poll.hpp"
#include "text/chunks.hpp"

using namespace nanobind::literals;

namespace hf_bpe {

// A chain of compiled expressions, as Python holds it.
struct PyChain {
  std::shared_ptr<const Chain> chain;
};

// The pattern that None, a name or a chain stands for.
inline Pattern pattern_of(nb::handle pattern) {
  if (pattern.is_none()) return Pattern::kNone;
  if (PyChain* chain; nb::try_cast(pattern, chain)) return Pattern(chain->chain);
  const auto name = nb::cast<std::string>(pattern);
  if (const std::optional<Pattern::Name> known = pattern_named(name)) return *known;
  throw nb::value_error(("pattern '" + name + "' is not built in").c_str());
}

inline Simd simd_of(const std::optional<std::string>& name) {
  const Simd widest = widest_simd();
  if (!name) return widest;
  if (*name == "scalar") return Simd::kScalar;
  if (*name == "avx2" && widest == Simd::kAvx2) return widest;
  if (*name == "neon" && widest == Simd::kNeon) return widest;
  throw nb::value_error(("this machine or build has no '" + *name + "'").c_str());
}

inline std::vector<std::string> names_of_simd() {
  const Simd widest = widest_simd();
  if (widest == Simd::kScalar) return {"scalar"};
  return {"scalar", widest == Simd::kAvx2 ? "avx2" : "neon"};
}

inline const Byte* bytes_of(const nb::bytes& bytes) { return static_cast<const Byte*>(bytes.data()); }

// The bytes of an object that must be bytes, valid as long as it is held.
inline std::string_view view_of(nb::handle bytes, const char* what) {
  if (!PyBytes_Check(bytes.ptr())) throw nb::type_error((std::string(what) + ": expected bytes").c_str());
  return {PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

// A number within the range of its type. The casters of vectors would continue through a list that `__index__` of an
// item may have changed.
template <class Number>
Number number_of(nb::handle object, const char* what) {
  Number number;
  if (nb::try_cast(object, number)) return number;
  const std::string most = std::to_string(std::numeric_limits<Number>::max());
  throw nb::type_error((std::string(what) + ": expected an int from 0 to " + most).c_str());
}

inline nb::bytes to_python(const Byte* data, std::size_t size) {
  return nb::bytes(reinterpret_cast<const char*>(data), size);
}

// Releases the GIL. What exhausts the memory comes after, so the thread is prepared here.
class NoGil {
 public:
  NoGil() { static_cast<void>(prepare_to_throw()); }

 private:
  nb::gil_scoped_release released_;
};

// Calls `progress` and checks for Ctrl-C every twentieth of a second; for the thread that released the GIL.
class Poll {
 public:
  explicit Poll(nb::object progress) : progress_(std::move(progress)) {}

  void operator()(std::size_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(50);
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!progress_.is_none()) progress_(done);
  }

 private:
  nb::object progress_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
};

// What a call returns without the GIL; it is given what checks for Ctrl-C.
template <class Call>
auto without_gil(const Call& call) {
  Poll poll{nb::none()};
  const NoGil no_gil;
  return call(PollFunction([&] { poll(0); }));
}

// Runs signal handlers and propagates their exceptions; for loops that hold the GIL.
inline const PollFunction kCheckSignals = [] {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
};

// Refuses a second thread, because objects change while the GIL is released.
class Occupied {
 public:
  explicit Occupied(std::atomic<bool>& flag) : flag_(flag) {
    if (flag_.exchange(true)) throw std::runtime_error("another thread is using this object; give each thread its own");
  }
  ~Occupied() { flag_ = false; }

 private:
  std::atomic<bool>& flag_;
};

void bind_patterns(nb::module_& module);
void bind_encoder(nb::module_& module);
void bind_files(nb::module_& module);
void bind_nfc(nb::module_& module);
void bind_row_results(nb::module_& module);
void bind_runs(nb::module_& module);
void bind_token_bytes(nb::module_& module);

// A `RunMerger` of the tables.
Typed<nb::object, "RunMerger"> merger_of(std::vector<WordCounts> tables);

// Reads a run in memory, or one from a function piece by piece. Throws Python errors.
RunReader::Refill refill_from(nb::handle run);

}  // namespace hf_bpe
