// Python bindings of the core, which convert types, release the GIL and map errors, and compute nothing.
#include <limits>

#include "added_tokens/cuts.hpp"
#include "bindings/python.hpp"
#include "count/counter.hpp"
#include "count/word_counts.hpp"
#include "train/parity.hpp"
#include "train/trainer.hpp"

using namespace hf_bpe;

namespace {

// What `learn` learns, as pairs of bytes; `progress`, unless it is None, is called with those since its last call, and
// at the end.
nb::list merges_of(const std::function<Learned(const std::function<void(const Learned&)>&)>& learn,
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
    all = learn([&](const Learned& so_far) {
      learned = &so_far;
      poll(so_far.merges.size());
    });
  }
  learned = &all;
  take();
  return merges;
}

// The memory of learn_merges in bytes, without the words.
std::uint64_t training_bytes_of(const Words& words, const FirstTokens::Merges& initial, std::size_t max_merges,
                                const WordEncoding& encoding, const Sharing& sharing) {
  Poll poll{nb::none()};
  const nb::gil_scoped_release no_gil;
  return training_bytes(words, initial, max_merges, encoding, sharing, [&] { poll(0); });
}

// The words of a run from a Python function, which reads it from its beginning each time.
RunWords run_of(const nb::object& open) {
  return RunWords([&open] {
    const nb::gil_scoped_acquire gil;
    return refill_from(open());
  });
}

std::vector<std::string> strings_of(const nb::list& all) {
  std::vector<std::string> strings;
  for (nb::handle bytes : items_of(all, "special_tokens")) strings.emplace_back(view_of(bytes, "special_tokens"));
  return strings;
}

FirstTokens::Merges merges_from(const nb::list& pairs) {
  FirstTokens::Merges merges;
  for (nb::handle pair : items_of(pairs, "initial")) {
    const Held parts = items_of(pair, "initial");
    if (parts.size() != 2) throw nb::type_error("initial: expected pairs of bytes");
    merges.emplace_back(view_of(parts[0], "initial"), view_of(parts[1], "initial"));
  }
  return merges;
}

// An int that is not negative; the largest of 64 bits if it is larger.
std::uint64_t capped(nb::handle number, const char* name) {
  if (!PyLong_Check(number.ptr())) throw nb::type_error((std::string(name) + ": expected an int").c_str());
  const unsigned long long value = PyLong_AsUnsignedLongLong(number.ptr());
  if (value != std::numeric_limits<unsigned long long>::max() || !PyErr_Occurred()) return value;
  PyErr_Clear();
  const nb::object zero = nb::int_(0);
  if (number < zero) throw nb::value_error((std::string(name) + ": expected 0 or more").c_str());
  return std::numeric_limits<std::uint64_t>::max();
}

// The LearningOptions of hf_bpe/reference/_options.py.
LearningOptions learning_options_from(nb::handle given) {
  const auto limit = [&](const char* name) {
    const nb::object value = given.attr(name);
    return value.is_none() ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(capped(value, name));
  };
  LearningOptions options;
  options.lexicographic = nb::cast<std::string>(given.attr("tie_break")) == "lexicographic";
  options.min_frequency = capped(given.attr("min_frequency"), "min_frequency");
  options.max_token_bytes = limit("max_token_bytes");
  options.length_penalty = nb::cast<double>(given.attr("length_penalty"));
  options.words = {limit("max_words"), nb::cast<bool>(given.attr("colon_space"))};
  return options;
}

// Several runs, and the functions that read them.
struct Runs {
  explicit Runs(const nb::list& all) {
    for (nb::handle open : items_of(all, "counts")) opens.push_back(nb::borrow(open));
    for (const nb::object& open : opens) words.push_back(run_of(open));
    for (const RunWords& each : words) pointers.push_back(&each);
  }
  Runs(const Runs&) = delete;

  std::vector<nb::object> opens;
  std::vector<RunWords> words;
  std::vector<const Words*> pointers;
};

// Pairs of bytes, and the number of the language of each.
nb::tuple parity_merges_of(const nb::list& languages, const nb::list& dev, const ParityOptions& options,
                           nb::object progress) {
  const Runs runs(languages), dev_runs(dev);
  Poll poll(std::move(progress));
  Learned learned;
  std::vector<std::size_t> chosen;
  {
    const nb::gil_scoped_release no_gil;
    learned = learn_parity_merges(runs.pointers, dev_runs.pointers, options, chosen,
                                  [&](const Learned& so_far) { poll(so_far.merges.size()); });
  }
  nb::list merges, choices;
  for (const auto& [first, second] : learned.merges) {
    const auto bytes = [&](Symbol symbol) {
      return nb::bytes(learned.tokens[symbol].data(), learned.tokens[symbol].size());
    };
    merges.append(nb::make_tuple(bytes(first), bytes(second)));
  }
  for (const std::size_t language : chosen) choices.append(language);
  return nb::make_tuple(merges, choices);
}

class PyCounter {
 public:
  explicit PyCounter(const CountingOptions& options) : counter_(options) {}

  nb::tuple add(const nb::list& objects, std::uint64_t weight, std::size_t first_chunk, std::size_t start,
                std::optional<std::size_t> stop, bool check_utf8, nb::object progress) {
    const Occupied occupied(flag_);
    HeldTexts held(objects, {.must_be_utf8 = check_utf8, .may_be_mapped = true});
    if (start != 0 || stop) {
      if (held.texts.size() != 1) throw nb::value_error("expected one text of which to count a part");
      held.texts[0].from = start;
      held.texts[0].to = stop.value_or(held.texts[0].to);
    }
    Poll poll(std::move(progress));
    Counter::Added added;
    {
      const nb::gil_scoped_release no_gil;
      added = counter_.add(held.texts, std::ref(poll), weight, first_chunk);
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

nb::list pre_tokenize(nb::bytes text, nb::handle pattern, std::optional<std::string> simd) {
  nb::list pieces;
  PollInLoop polls(kCheckSignals);
  const auto append = [&](const Byte* from, const Byte* const* ends, std::size_t count) {
    polls(count);
    for (std::size_t i = 0; i < count; from = ends[i++]) {
      pieces.append(to_python(from, static_cast<std::size_t>(ends[i] - from)));
    }
  };
  Splitter splitter(pattern_of(pattern), simd_of(simd));
  splitter.split(bytes_of(text), bytes_of(text) + text.size(), kCheckSignals, append);
  return pieces;
}

std::size_t count_pre_tokens(nb::bytes text, nb::handle pattern, std::optional<std::string> simd) {
  Splitter splitter(pattern_of(pattern), simd_of(simd));
  const Byte* begin = bytes_of(text);
  const Byte* end = begin + text.size();
  Poll poll{nb::none()};
  const nb::gil_scoped_release no_gil;
  std::size_t total = 0;
  const PollFunction poll_in_loop = [&] { poll(0); };
  splitter.split(begin, end, poll_in_loop, [&](const Byte*, const Byte* const*, std::size_t count) {
    total += count;
    poll(0);
  });
  return total;
}

std::size_t find_last_cut_in(nb::bytes text, nb::handle pattern, const nb::list& tokens) {
  const AddedTokens added(plain_tokens(strings_of(tokens)));
  const Pattern known = pattern_of(pattern);
  const Text whole{bytes_of(text), bytes_of(text) + text.size()};
  Poll poll{nb::none()};
  const nb::gil_scoped_release no_gil;
  const PollFunction poll_in_loop = [&] { poll(0); };
  return find_last_cut(whole, {.pattern = known, .tokens = added, .poll = poll_in_loop});
}

}  // namespace

NB_MODULE(_native, module) {
  nb::set_leak_warnings(false);  // a cache of patterns lives until the interpreter ends
  module.doc() = "The native core of hf_bpe, which hf_bpe._native_core finds.";

  nb::class_<PyCounter>(module, "Counter")
      .def(
          "__init__",
          [](PyCounter* self, nb::handle pattern, const nb::list& special_tokens, unsigned threads, std::size_t memory,
             std::optional<std::string> simd, std::size_t chunk_bytes) {
            CountingOptions options{pattern_of(pattern), {}, threads, simd_of(simd), chunk_bytes, memory};
            options.special_tokens = strings_of(special_tokens);
            new (self) PyCounter(options);
          },
          "pattern"_a.none(), "special_tokens"_a, nb::kw_only(), "threads"_a, "memory"_a = 0, "simd"_a = nb::none(),
          "chunk_bytes"_a = CountingOptions().chunk_bytes)
      .def("add", &PyCounter::add, "texts"_a, nb::kw_only(), "weight"_a = 1, "first_chunk"_a = 0, "start"_a = 0,
           "stop"_a = nb::none(), "check_utf8"_a, "progress"_a.none())
      .def("drain", &PyCounter::drain);

  module.def(
      "learn_merges",
      [](const nb::object& counts, const nb::handle& options, const nb::list& initial, std::size_t max_merges,
         nb::handle parts, unsigned threads, nb::object progress, std::uint64_t span, std::size_t least_slots) {
        TrainingOptions training{learning_options_from(options), max_merges};
        training.span = span;
        training.encoding = {pattern_of(parts), threads};
        training.sharing = {threads, least_slots};
        const RunWords words = run_of(counts);
        const FirstTokens::Merges first = merges_from(initial);
        return merges_of([&](const auto& poll) { return learn_merges(words, first, training, poll); },
                         std::move(progress));
      },
      "counts"_a, "options"_a, nb::kw_only(), "initial"_a, "max_merges"_a, "parts"_a.none() = "gpt2", "threads"_a = 1,
      "progress"_a.none(), "span"_a = TrainingOptions().span, "least_slots"_a = Sharing().least_slots);

  module.def(
      "learn_parity_merges",
      [](const nb::list& counts, const nb::list& dev, const nb::handle& options, std::size_t max_merges,
         std::size_t global_merges, std::size_t window, double alpha, const std::vector<double>& ratios,
         nb::object progress) {
        const ParityOptions parity{learning_options_from(options), max_merges, global_merges, window, alpha, ratios};
        return parity_merges_of(counts, dev, parity, std::move(progress));
      },
      "counts"_a, "dev"_a, "options"_a, nb::kw_only(), "max_merges"_a, "global_merges"_a, "window"_a, "alpha"_a,
      "ratios"_a, "progress"_a.none());

  module.def(
      "training_bytes",
      [](const nb::object& counts, const nb::list& initial, std::size_t max_merges, nb::handle parts,
         unsigned threads) {
        return training_bytes_of(run_of(counts), merges_from(initial), max_merges, {pattern_of(parts), threads},
                                 {threads});
      },
      "counts"_a, "initial"_a, nb::kw_only(), "max_merges"_a, "parts"_a.none(), "threads"_a);

  module.def("pre_tokenize", &pre_tokenize, "text"_a, "pattern"_a.none(), nb::kw_only(), "simd"_a = nb::none());
  module.def("count_pre_tokens", &count_pre_tokens, "text"_a, "pattern"_a.none(), nb::kw_only(), "simd"_a = nb::none());
  module.def("simd_names", &names_of_simd);

  module.def("find_last_cut", &find_last_cut_in, "text"_a, "pattern"_a.none(), "special_tokens"_a);

  bind_patterns(module);
  bind_encoder(module);
  bind_files(module);
  bind_runs(module);
  bind_stochastok(module);
}
