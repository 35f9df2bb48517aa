// What Python sees of the core: types are converted, the GIL released and errors mapped here, and nothing is computed.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "counter.hpp"
#include "scanner.hpp"
#include "trainer.hpp"
#include "word_counts.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace hf_bpe;

namespace {

Pattern pattern_of(const std::optional<std::string>& name) {
  if (!name) return Pattern::kNone;
  if (*name == "gpt2") return Pattern::kGpt2;
  if (*name == "cl100k" || *name == "llama3") return Pattern::kCl100k;
  if (*name == "qwen2") return Pattern::kQwen2;
  if (*name == "o200k") return Pattern::kO200k;
  throw nb::value_error(("pattern '" + *name + "' is not built in").c_str());
}

Simd simd_of(const std::optional<std::string>& name) {
  const Simd widest = widest_simd();
  if (!name) return widest;
  if (*name == "scalar") return Simd::kScalar;
  if (*name == "avx2" && widest == Simd::kAvx2) return widest;
  if (*name == "neon" && widest == Simd::kNeon) return widest;
  throw nb::value_error(("this machine or build has no '" + *name + "'").c_str());
}

std::vector<std::string> names_of_simd() {
  const Simd widest = widest_simd();
  if (widest == Simd::kScalar) return {"scalar"};
  return {"scalar", widest == Simd::kAvx2 ? "avx2" : "neon"};
}

const Byte* bytes_of(const void* data) { return static_cast<const Byte*>(data); }
const Byte* bytes_of(nb::bytes bytes) { return bytes_of(bytes.data()); }
nb::bytes to_python(const Byte* data, std::size_t size) { return nb::bytes(reinterpret_cast<const char*>(data), size); }

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
  BorrowedTexts(nb::list objects, bool must_be_utf8) {
    const nb::object mapping = nb::module_::import_("mmap").attr("mmap");
    views_.reserve(objects.size());
    for (nb::handle object : objects) {
      if (PyUnicode_Check(object.ptr())) {
        Py_ssize_t size;
        const char* data = PyUnicode_AsUTF8AndSize(object.ptr(), &size);  // which for ASCII is what the str holds
        if (data == nullptr) throw nb::python_error();
        texts.push_back({bytes_of(data), bytes_of(data) + size, false, false});
        continue;
      }
      views_.emplace_back(object);
      const Py_buffer& view = *views_.back();
      const bool is_mapped = nb::isinstance(object, mapping) && view.readonly;
      texts.push_back({bytes_of(view.buf), bytes_of(view.buf) + view.len, must_be_utf8, is_mapped});
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

  std::vector<View> views_;
};

class PyWordCounts {
 public:
  PyWordCounts() = default;
  explicit PyWordCounts(WordCounts counts) : counts_(std::move(counts)) {}

  void add(nb::bytes word, std::uint64_t count) {
    const Occupied occupied(flag_);
    if (word.size() != 0) counts_.add(bytes_of(word), word.size(), count);
  }
  // 0 where there is none.
  std::uint64_t find(nb::bytes word) {
    const Occupied occupied(flag_);
    return word.size() == 0 ? 0 : counts_.find(bytes_of(word), word.size());
  }
  std::uint64_t get(nb::bytes word) {
    const std::uint64_t count = find(word);
    if (count == 0) {
      PyErr_SetObject(PyExc_KeyError, word.ptr());
      throw nb::python_error();
    }
    return count;
  }
  std::size_t size() const { return counts_.size(); }

  // A list of what `convert` makes of each word and its count.
  template <class Convert>
  nb::list list(Convert convert) {
    const Occupied occupied(flag_);
    nb::list all;
    for (std::size_t slot = 0; slot < counts_.slots(); ++slot) {
      if (counts_.count_at(slot) == 0) continue;
      Byte room[16];
      all.append(convert(to_python(counts_.word_at(slot, room), counts_.length_at(slot)), counts_.count_at(slot)));
    }
    return all;
  }

  nb::list learn_merges(const TrainingOptions& options, nb::object progress) {
    const Occupied occupied(flag_);
    Poll poll(std::move(progress));
    std::vector<std::pair<Symbol, Symbol>> merges;
    {
      const nb::gil_scoped_release no_gil;
      merges = hf_bpe::learn_merges(counts_, options, std::ref(poll));
    }
    std::vector<nb::bytes> tokens;
    for (const Byte& byte : bytes_of_symbols()) tokens.push_back(to_python(&byte, 1));
    nb::list pairs;
    for (const auto& [first, second] : merges) {
      pairs.append(nb::make_tuple(tokens[first], tokens[second]));
      tokens.push_back(nb::bytes(tokens[first] + tokens[second]));
    }
    return pairs;
  }

 private:
  WordCounts counts_;
  std::atomic<bool> flag_ = false;
};

class PyCounter {
 public:
  explicit PyCounter(const CountingOptions& options) : counter_(options) {}

  std::optional<std::pair<std::size_t, std::size_t>> add(nb::list objects, bool check_utf8, nb::object progress) {
    const Occupied occupied(flag_);
    const BorrowedTexts borrowed(objects, check_utf8);
    Poll poll(std::move(progress));
    std::optional<InvalidUtf8> invalid;
    {
      const nb::gil_scoped_release no_gil;
      invalid = counter_.add(borrowed.texts, std::ref(poll));
    }
    if (!invalid) return std::nullopt;
    return std::pair(invalid->text, invalid->offset);
  }
  PyWordCounts* finish() {
    const Occupied occupied(flag_);
    return new PyWordCounts(counter_.finish());
  }

 private:
  Counter counter_;
  std::atomic<bool> flag_ = false;
};

nb::list pre_tokenize(nb::bytes text, std::optional<std::string> pattern, std::optional<std::string> simd) {
  nb::list pieces;
  const auto append = [&](const Byte* from, const Byte* const* ends, std::size_t count) {
    for (std::size_t i = 0; i < count; from = ends[i++]) {
      pieces.append(to_python(from, static_cast<std::size_t>(ends[i] - from)));
    }
  };
  Scanner(pattern_of(pattern), simd_of(simd)).scan_all(bytes_of(text), bytes_of(text) + text.size(), append);
  return pieces;
}

std::size_t count_pre_tokens(nb::bytes text, std::optional<std::string> pattern, std::optional<std::string> simd) {
  const Scanner scan(pattern_of(pattern), simd_of(simd));
  const Byte* begin = bytes_of(text);
  const Byte* end = begin + text.size();
  const nb::gil_scoped_release no_gil;
  std::size_t total = 0;
  scan.scan_all(begin, end, [&](const Byte*, const Byte* const*, std::size_t count) { total += count; });
  return total;
}

}  // namespace

NB_MODULE(_native, module) {
  module.doc() = "The native core of hf_bpe; hf_bpe.engine is the only module that imports it.";

  nb::class_<PyWordCounts>(module, "WordCounts")
      .def(nb::init<>())
      .def("add", &PyWordCounts::add, "word"_a, "count"_a)
      .def("__len__", &PyWordCounts::size)
      .def("__getitem__", &PyWordCounts::get, "word"_a)
      .def("__contains__", [](PyWordCounts& self, nb::bytes word) { return self.find(word) != 0; }, "word"_a)
      .def("keys", [](PyWordCounts& self) { return self.list([](nb::bytes word, std::uint64_t) { return word; }); })
      .def("values", [](PyWordCounts& self) { return self.list([](nb::bytes, std::uint64_t count) { return count; }); })
      .def("items", [](PyWordCounts& self) {
        return self.list([](nb::bytes word, std::uint64_t count) { return nb::make_tuple(word, count); });
      })
      .def("__iter__", [](PyWordCounts& self) {
        return nb::iter(self.list([](nb::bytes word, std::uint64_t) { return word; }));
      });

  nb::class_<PyCounter>(module, "Counter")
      .def(
          "__init__",
          [](PyCounter* self, std::optional<std::string> pattern, std::vector<nb::bytes> special_tokens,
             unsigned threads, std::optional<std::string> simd, std::size_t chunk_bytes) {
            CountingOptions options{pattern_of(pattern), {}, threads, simd_of(simd), chunk_bytes};
            for (const nb::bytes& token : special_tokens) {
              options.special_tokens.emplace_back(token.c_str(), token.size());
            }
            new (self) PyCounter(options);
          },
          "pattern"_a.none(), "special_tokens"_a, nb::kw_only(), "threads"_a, "simd"_a = nb::none(),
          "chunk_bytes"_a = CountingOptions().chunk_bytes)
      .def("add", &PyCounter::add, "texts"_a, nb::kw_only(), "check_utf8"_a, "progress"_a.none())
      .def("finish", &PyCounter::finish);

  module.def(
      "learn_merges",
      [](PyWordCounts& counts, std::size_t max_merges, bool lexicographic, std::uint64_t min_frequency,
         std::optional<std::size_t> max_token_bytes, double length_penalty, nb::object progress, std::uint64_t span) {
        TrainingOptions options{max_merges, lexicographic, min_frequency, {}, length_penalty, span};
        options.max_token_bytes = max_token_bytes.value_or(std::numeric_limits<std::size_t>::max());
        return counts.learn_merges(options, std::move(progress));
      },
      "counts"_a, nb::kw_only(), "max_merges"_a, "lexicographic"_a, "min_frequency"_a, "max_token_bytes"_a.none(),
      "length_penalty"_a, "progress"_a.none(), "span"_a = TrainingOptions().span);

  module.def("pre_tokenize", &pre_tokenize, "text"_a, "pattern"_a.none(), nb::kw_only(), "simd"_a = nb::none());
  module.def("count_pre_tokens", &count_pre_tokens, "text"_a, "pattern"_a.none(), nb::kw_only(), "simd"_a = nb::none());
  module.def("simd_names", &names_of_simd);
}
