// What the files of bindings share: types converted, the GIL released and errors mapped. Nothing is computed here.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "chunks.hpp"
#include "runs.hpp"
#include "scanner.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hf_bpe {

inline Pattern pattern_of(const std::optional<std::string>& name) {
  if (!name) return Pattern::kNone;
  if (*name == "gpt2") return Pattern::kGpt2;
  if (*name == "cl100k" || *name == "llama3") return Pattern::kCl100k;
  if (*name == "qwen2") return Pattern::kQwen2;
  if (*name == "o200k") return Pattern::kO200k;
  throw nb::value_error(("pattern '" + *name + "' is not built in").c_str());
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

inline const Byte* bytes_of(const void* data) { return static_cast<const Byte*>(data); }
inline const Byte* bytes_of(nb::bytes bytes) { return bytes_of(bytes.data()); }
inline nb::bytes to_python(const Byte* data, std::size_t size) { return nb::bytes(reinterpret_cast<const char*>(data), size); }

// Calls `progress`, and hears Ctrl-C, every twentieth of a second; for the thread that released the GIL.
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

// Refuses a second thread: objects here change while the GIL is released.
class Occupied {
 public:
  explicit Occupied(std::atomic<bool>& flag) : flag_(flag) {
    if (flag_.exchange(true)) throw std::runtime_error("another thread is using this object; give each thread its own");
  }
  ~Occupied() { flag_ = false; }

 private:
  std::atomic<bool>& flag_;
};

// Text of Python objects, borrowed from them while this lives.
class BorrowedTexts {
 public:
  struct Options {
    bool must_be_utf8 = false;        // of bytes
    bool repairs_surrogates = false;  // of a str, as hf_bpe.byte_level does; else a UnicodeEncodeError
    std::size_t most_wide_bytes = 0;  // up to which a str may stay as it is, for whoever repairs surrogates
  };
  BorrowedTexts(nb::handle list, Options options) : options_(options) {
    if (!PyList_Check(list.ptr())) throw nb::type_error("texts: expected a list");
    for (nb::handle object : nb::borrow<nb::list>(list)) add(object);
  }
  explicit BorrowedTexts(Options options) : options_(options) {}

  void add(nb::handle object) {
    if (PyUnicode_Check(object.ptr())) {
      add_str(object);
    } else if (PyObject_CheckBuffer(object.ptr())) {
      views_.emplace_back(object);
      const Py_buffer& view = *views_.back();
      const bool is_mapped = view.readonly && nb::isinstance(object, nb::module_::import_("mmap").attr("mmap"));
      texts.push_back({bytes_of(view.buf), bytes_of(view.buf) + view.len, options_.must_be_utf8, is_mapped});
    } else {
      const std::string type = nb::cast<std::string>(object.type().attr("__name__"));
      throw nb::type_error(("text " + std::to_string(texts.size()) + ": expected str or bytes, got " + type).c_str());
    }
  }

  std::vector<Text> texts;

 private:
  class View {
   public:
    explicit View(nb::handle object) {
      if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
    }
    View(View&& other) noexcept : view_(std::exchange(other.view_, Py_buffer{})) {}
    ~View() { PyBuffer_Release(&view_); }
    const Py_buffer& operator*() const { return view_; }

   private:
    Py_buffer view_;
  };

  void add_str(nb::handle str) {
#if PY_VERSION_HEX < 0x030C0000
    if (PyUnicode_READY(str.ptr()) != 0) throw nb::python_error();
#endif
    // To ask for UTF-8 is slow, and leaves a copy with the str for as long as it lives.
    const auto width = static_cast<unsigned>(PyUnicode_KIND(str.ptr()));
    const std::size_t bytes = static_cast<std::size_t>(PyUnicode_GET_LENGTH(str.ptr())) * width;
    if (!PyUnicode_IS_ASCII(str.ptr()) && bytes <= options_.most_wide_bytes) {
      const Byte* data = bytes_of(PyUnicode_DATA(str.ptr()));
      texts.push_back({data, data + bytes, false, false, width});
      return;
    }
    Py_ssize_t size;
    const char* data = PyUnicode_AsUTF8AndSize(str.ptr(), &size);  // which for ASCII is what the str holds
    if (data == nullptr && options_.repairs_surrogates && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
      PyErr_Clear();
      repaired_.push_back(repaired(str));
      data = PyUnicode_AsUTF8AndSize(repaired_.back().ptr(), &size);
    }
    if (data == nullptr) throw nb::python_error();
    texts.push_back({bytes_of(data), bytes_of(data) + size});
  }

  // Surrogates that form UTF-16 pairs joined, the others replaced by U+FFFD.
  static nb::object repaired(nb::handle str) {
    const nb::object utf16 = nb::steal(PyUnicode_AsEncodedString(str.ptr(), "utf-16", "surrogatepass"));
    if (!utf16.is_valid()) throw nb::python_error();
    nb::object text = nb::steal(PyUnicode_FromEncodedObject(utf16.ptr(), "utf-16", "replace"));
    if (!text.is_valid()) throw nb::python_error();
    return text;
  }

  Options options_;
  std::vector<View> views_;
  std::vector<nb::object> repaired_;
};

void bind_encoder(nb::module_& module);
void bind_runs(nb::module_& module);

// A `RunMerger` of the tables.
nb::object merger_of(std::vector<WordCounts> tables);

// Reads a run in memory, or one that a function gives piece by piece. What it throws are errors of Python.
RunReader::Refill refill_from(nb::handle run);

}  // namespace hf_bpe
