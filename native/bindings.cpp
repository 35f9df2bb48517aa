// What Python sees of the core: types are converted, the GIL released and errors mapped here, and nothing is computed.
#include <limits>

#include "counter.hpp"
#include "merges_file.hpp"
#include "python.hpp"
#include "trainer.hpp"
#include "word_counts.hpp"

using namespace hf_bpe;

namespace {

// Pairs of bytes; `progress`, unless it is None, is told of those since its last call, and at the end.
nb::list merges_of(const Words& words, const FirstTokens::Merges& initial, const TrainingOptions& options,
                   nb::object progress) {
  const Learned* learned = nullptr;
  nb::list merges;
  std::vector<nb::bytes> tokens;
  const auto take = [&] {
    nb::list added;
    for (std::size_t i = tokens.size(); i < learned->tokens.size(); ++i) {
      tokens.emplace_back(learned->tokens[i].data(), learned->tokens[i].size());
    }
    for (std::size_t i = merges.size(); i < learned->merges.size(); ++i) {
      const auto [first, second] = learned->merges[i];
      added.append(nb::make_tuple(tokens[first], tokens[second]));
    }
    merges.extend(added);
    if (!progress.is_none()) progress(added, learned->last_count);
  };
  Poll poll(progress.is_none() ? nb::none() : nb::cpp_function([&](std::size_t) { take(); }));
  Learned all;
  {
    const nb::gil_scoped_release no_gil;
    all = learn_merges(words, initial, options, [&](const Learned& so_far) {
      learned = &so_far;
      poll(so_far.merges.size());
    });
  }
  learned = &all;
  take();
  return merges;
}

// What learn_merges takes beyond the words, in bytes.
std::uint64_t training_bytes_of(const Words& words, std::size_t max_merges) {
  Poll poll{nb::none()};
  const nb::gil_scoped_release no_gil;
  return training_bytes(words, max_merges, [&] { poll(0); });
}

// The words of a run that a Python function gives, each time to be read from its beginning.
RunWords run_of(nb::handle open) {
  return RunWords([open] {
    const nb::gil_scoped_acquire gil;
    return refill_from(open());
  });
}

std::vector<std::string> strings_of(const std::vector<nb::bytes>& all) {
  std::vector<std::string> strings;
  for (const nb::bytes& bytes : all) strings.emplace_back(bytes.c_str(), bytes.size());
  return strings;
}

class PyCounter {
 public:
  explicit PyCounter(const CountingOptions& options) : counter_(options) {}

  nb::tuple add(nb::list objects, std::uint64_t weight, std::size_t first_chunk, std::size_t start,
                std::optional<std::size_t> stop, bool check_utf8, nb::object progress) {
    const Occupied occupied(flag_);
    BorrowedTexts borrowed(objects, {.must_be_utf8 = check_utf8});
    if (start != 0 || stop) {
      if (borrowed.texts.size() != 1) throw nb::value_error("expected one text of which to count a part");
      borrowed.texts[0].from = start;
      borrowed.texts[0].to = stop.value_or(borrowed.texts[0].to);
    }
    Poll poll(std::move(progress));
    Counter::Added added;
    {
      const nb::gil_scoped_release no_gil;
      added = counter_.add(borrowed.texts, std::ref(poll), weight, first_chunk);
    }
    nb::object invalid = nb::none();
    if (added.invalid) invalid = nb::make_tuple(added.invalid->text, added.invalid->offset);
    return nb::make_tuple(added.is_done ? nb::none() : nb::object(nb::int_(added.chunks)), invalid);
  }
  nb::object drain() {
    const Occupied occupied(flag_);
    return merger_of(counter_.take());
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

std::size_t find_last_cut_in(nb::bytes text, std::optional<std::string> pattern, const std::vector<nb::bytes>& tokens) {
  const TokenFinder finder(strings_of(tokens));
  const Pattern known = pattern_of(pattern);
  const Text whole{bytes_of(text), bytes_of(text) + text.size()};
  const nb::gil_scoped_release no_gil;
  return find_last_cut(whole, known, finder);
}

nb::list from_printable(nb::list texts) {
  nb::list tokens;
  std::string bytes;
  for (nb::handle text : texts) {
    if (!PyUnicode_Check(text.ptr())) throw nb::type_error("texts: expected str");
#if PY_VERSION_HEX < 0x030C0000
    if (PyUnicode_READY(text.ptr()) != 0) throw nb::python_error();
#endif
    bytes.clear();
    bool is_printable = true;
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(text.ptr()); ++i) {
      const int byte = byte_of(PyUnicode_READ_CHAR(text.ptr(), i));
      is_printable &= byte >= 0;
      bytes.push_back(static_cast<char>(byte));
    }
    tokens.append(is_printable ? nb::object(nb::bytes(bytes.data(), bytes.size())) : nb::none());
  }
  return tokens;
}

// Merges of the very objects in `tokens`, and which of those are used, a byte for each; or None.
nb::object read_merges_of(nb::bytes text, nb::list tokens) {
  std::vector<std::string_view> views;
  for (nb::handle token : tokens) {
    if (!PyBytes_Check(token.ptr())) throw nb::type_error("tokens: expected bytes");
    views.emplace_back(PyBytes_AS_STRING(token.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(token.ptr())));
  }
  const std::optional<MergesFile> file = read_merges({text.c_str(), text.size()}, views);
  if (!file) return nb::none();
  nb::object merges = nb::steal(PyList_New(static_cast<Py_ssize_t>(file->merges.size())));
  if (!merges.is_valid()) throw nb::python_error();
  for (std::size_t i = 0; i < file->merges.size(); ++i) {
    const auto [first, second] = file->merges[i];
    PyObject* pair = PyTuple_Pack(2, PyList_GET_ITEM(tokens.ptr(), first), PyList_GET_ITEM(tokens.ptr(), second));
    if (pair == nullptr) throw nb::python_error();
    PyList_SET_ITEM(merges.ptr(), static_cast<Py_ssize_t>(i), pair);
  }
  const std::string is_used(file->is_used.begin(), file->is_used.end());
  return nb::make_tuple(merges, nb::bytes(is_used.data(), is_used.size()));
}

}  // namespace

NB_MODULE(_native, module) {
  module.doc() = "The native core of hf_bpe; hf_bpe.engine is the only module that imports it.";

  nb::class_<PyCounter>(module, "Counter")
      .def(
          "__init__",
          [](PyCounter* self, std::optional<std::string> pattern, std::vector<nb::bytes> special_tokens,
             unsigned threads, std::size_t memory, std::optional<std::string> simd, std::size_t chunk_bytes) {
            CountingOptions options{pattern_of(pattern), {}, threads, simd_of(simd), chunk_bytes, memory};
            options.special_tokens = strings_of(special_tokens);
            new (self) PyCounter(options);
          },
          "pattern"_a.none(), "special_tokens"_a, nb::kw_only(), "threads"_a, "memory"_a = 0,
          "simd"_a = nb::none(), "chunk_bytes"_a = CountingOptions().chunk_bytes)
      .def("add", &PyCounter::add, "texts"_a, nb::kw_only(), "weight"_a = 1, "first_chunk"_a = 0, "start"_a = 0,
           "stop"_a = nb::none(), "check_utf8"_a, "progress"_a.none())
      .def("drain", &PyCounter::drain);

  module.def(
      "learn_merges",
      [](nb::object counts, std::vector<std::pair<nb::bytes, nb::bytes>> initial, std::size_t max_merges,
         bool lexicographic, std::uint64_t min_frequency, std::optional<std::size_t> max_token_bytes,
         double length_penalty, nb::object progress, std::uint64_t span) {
        TrainingOptions options{max_merges, lexicographic, min_frequency, {}, length_penalty, span};
        options.max_token_bytes = max_token_bytes.value_or(std::numeric_limits<std::size_t>::max());
        FirstTokens::Merges merges;
        for (const auto& [first, second] : initial) {
          merges.emplace_back(std::string(first.c_str(), first.size()), std::string(second.c_str(), second.size()));
        }
        return merges_of(run_of(counts), merges, options, std::move(progress));
      },
      "counts"_a, nb::kw_only(), "initial"_a, "max_merges"_a, "lexicographic"_a, "min_frequency"_a,
      "max_token_bytes"_a.none(), "length_penalty"_a, "progress"_a.none(), "span"_a = TrainingOptions().span);

  module.def(
      "training_bytes",
      [](nb::object counts, std::size_t max_merges) { return training_bytes_of(run_of(counts), max_merges); },
      "counts"_a, "max_merges"_a);

  module.def("pre_tokenize", &pre_tokenize, "text"_a, "pattern"_a.none(), nb::kw_only(), "simd"_a = nb::none());
  module.def("count_pre_tokens", &count_pre_tokens, "text"_a, "pattern"_a.none(), nb::kw_only(), "simd"_a = nb::none());
  module.def("simd_names", &names_of_simd);
  module.def("from_printable", &from_printable, "texts"_a);
  module.def("read_merges", &read_merges_of, "text"_a, "tokens"_a);

  module.def("find_last_cut", &find_last_cut_in, "text"_a, "pattern"_a.none(), "special_tokens"_a);

  bind_encoder(module);
  bind_runs(module);
}
