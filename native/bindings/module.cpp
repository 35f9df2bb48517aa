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
Merges merges_of(const std::function<Learned(const std::function<void(const Learned&)>&)>& learn, nb::object progress) {
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
    const NoGil no_gil;
    all = learn([&](const Learned& so_far) {
      learned = &so_far;
      poll(so_far.merges.size());
    });
  }
  learned = &all;
  take();
  return merges;
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

// Sets the alphabet and the reserved tokens of a training: a TrainingAlphabet of
// hf_bpe/reference/_training_alphabet.py, None for bytes.
void set_alphabet(TrainingOptions& options, nb::handle given) {
  if (given.is_none()) return;
  options.alphabet.is_bytes = false;
  const nb::object codes = given.attr("codes")();
  for (nb::handle code : items_of(codes, "alphabet")) {
    options.alphabet.characters.push_back(number_of<std::uint32_t>(code, "alphabet"));
  }
  options.alphabet.drops_others = nb::cast<bool>(given.attr("drops_others"));
  for (nb::handle token : given.attr("reserved")) options.reserved.emplace(view_of(token, "reserved"));
}

using OpenRun = Typed<nb::object, "Callable[[], Run]">;
using OpenRuns = Typed<nb::list, "list[Callable[[], Run]]">;
using GivenAlphabet = Typed<nb::object, "TrainingAlphabet">;
using GivenLearningOptions = Typed<nb::object, "LearningOptions">;
using OnProgress = Typed<nb::object, "Callable[[int], object]">;

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
Typed<nb::tuple, "tuple[list[tuple[bytes, bytes]], list[int]]"> parity_merges_of(const nb::list& languages,
                                                                                 const nb::list& dev,
                                                                                 const ParityOptions& options,
                                                                                 nb::object progress) {
  const Runs runs(languages), dev_runs(dev);
  Poll poll(std::move(progress));
  Learned learned;
  std::vector<std::size_t> chosen;
  {
    const NoGil no_gil;
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

  Typed<nb::tuple, "tuple[int | None, tuple[int, int] | None]"> add(
      const Typed<nb::list, "list[str | bytes | mmap]">& objects, std::uint64_t weight, std::size_t first_chunk,
      std::size_t start, std::optional<std::size_t> stop, bool check_utf8, const OnProgress& progress) {
    const Occupied occupied(flag_);
    HeldTexts held(objects, {.must_be_utf8 = check_utf8, .may_be_mapped = true});
    if (start != 0 || stop) {
      if (held.texts.size() != 1) throw nb::value_error("expected one text of which to count a part");
      held.texts[0].from = start;
      held.texts[0].to = stop.value_or(held.texts[0].to);
    }
    Poll poll(progress);
    Counter::Added added;
    {
      const NoGil no_gil;
      added = counter_.add(held.texts, std::ref(poll), weight, first_chunk);
    }
    nb::object invalid = nb::none();
    if (added.invalid) invalid = nb::make_tuple(added.invalid->text, added.invalid->offset);
    return nb::make_tuple(added.is_done ? nb::none() : nb::object(nb::int_(added.chunks)), invalid);
  }
  Typed<nb::object, "RunMerger"> drain() {
    const Occupied occupied(flag_);
    return merger_of(counter_.take());
  }

 private:
  Counter counter_;
  std::atomic<bool> flag_ = false;
};

ByteStrings pre_tokenize(nb::bytes text, const GivenPattern& pattern, std::optional<std::string> simd) {
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

std::size_t find_last_cut_in(nb::bytes text, const GivenPattern& pattern, const ByteStrings& tokens) {
  const AddedTokens added(plain_tokens(strings_of(tokens)));
  const Pattern parsed = pattern_of(pattern);
  const Text whole{bytes_of(text), bytes_of(text) + text.size()};
  return without_gil([&](const PollFunction& poll) {
    return find_last_cut(whole, {.pattern = parsed, .tokens = added, .poll = poll});
  });
}

}  // namespace

NB_MODULE(_native, module) {
  static_cast<void>(prepare_to_throw());
  nb::set_leak_warnings(false);  // a cache of patterns lives until the interpreter ends
  module.doc() = "The native core, which `hf_bpe._native_core` finds.";

  nb::class_<PyCounter>(module, "Counter", R"(Counts the pre-tokens of texts in threads, none of which outlives a call.

One thread at a time may call it; a second gets a RuntimeError.

Args:
    pattern: how text is cut.
    special_tokens: text is split at them first, at the longest where several begin.
    threads: number of threads, at most; the result does not depend on it.
    memory: what the counts may take, in bytes; 0 for as much as they need.
    simd: one of `simd_names()`, None for the best; the result does not depend on it.
    chunk_bytes: what a thread takes at a time; the result does not depend on it.
)")
      .def(
          "__init__",
          [](PyCounter* self, const GivenPattern& pattern, const ByteStrings& special_tokens, unsigned threads,
             std::size_t memory, std::optional<std::string> simd, std::size_t chunk_bytes) {
            CountingOptions options{pattern_of(pattern), {}, threads, simd_of(simd), chunk_bytes, memory};
            options.special_tokens = strings_of(special_tokens);
            new (self) PyCounter(options);
          },
          "pattern"_a.none(), "special_tokens"_a, nb::kw_only(), "threads"_a, "memory"_a = 0, "simd"_a = nb::none(),
          "chunk_bytes"_a = CountingOptions().chunk_bytes)
      .def("add", &PyCounter::add, "texts"_a, nb::kw_only(), "weight"_a = 1, "first_chunk"_a = 0, "start"_a = 0,
           "stop"_a = nb::none(), "check_utf8"_a, "progress"_a.none(), R"(Count texts, without copying them.

Args:
    texts: a str must have no lone surrogates. Of a mapping that is read only, pages are given back to the
        system when they are counted.
    weight: how many times each text counts.
    first_chunk: what an earlier call with the same texts returned.
    start, stop: count only from the first safe cut from `start` on (0: from the beginning) to the first from
        `stop` on (None: to the end). Goes with a single text.
    check_utf8: refuse texts that are not UTF-8; a str always is.
    progress: called about twenty times a second with the number of bytes done of these texts.

Returns:
    None if all is counted; else the memory is used up, and this is the chunk to continue with after `drain`.
    And the index of the first text that is not UTF-8 with the offset of its first byte that is not; the counts
    are of no more use then. None if there is none.

Raises:
    OverflowError: counts might pass 64 bits.
    UnicodeEncodeError: a str with lone surrogates.
    KeyboardInterrupt, or what `progress` raises: part of the texts is counted.
)")
      .def("drain", &PyCounter::drain,
           R"(Return the counts of all texts so far as a sorted run, to be read once, and start again from none.

Raises:
    KeyboardInterrupt: while they are sorted; they are lost.
)");

  module.def(
      "learn_merges",
      [](const OpenRun& counts, const GivenLearningOptions& options, const Merges& initial, std::size_t max_merges,
         const GivenPattern& parts, unsigned threads, const GivenAlphabet& alphabet,
         const Typed<nb::object, "Callable[[list[tuple[bytes, bytes]], int], object]">& progress, std::uint64_t span,
         std::size_t min_slots) {
        TrainingOptions training{learning_options_from(options.value), max_merges};
        set_alphabet(training, alphabet.value);
        training.span = span;
        training.encoding = {pattern_of(parts), threads};
        training.sharing = {threads, min_slots};
        const RunWords words = run_of(counts);
        const FirstTokens::Merges first = merges_from(initial);
        return merges_of([&](const auto& poll) { return learn_merges(words, first, training, poll); }, progress);
      },
      "counts"_a, "options"_a, nb::kw_only(), "initial"_a, "max_merges"_a, "parts"_a.none() = "gpt2", "threads"_a = 1,
      "alphabet"_a.none() = nb::none(), "progress"_a.none(), "span"_a = TrainingOptions().span,
      "min_slots"_a = Sharing().min_slots,
      R"(Learn merges as hf_bpe.reference does.

Args:
    counts: what returns a sorted run, to be read from its beginning, twice.
    parts: a pattern that cuts words where the initial merges do not cross, so that they are encoded fast.
    threads: threads that encode the words with the initial merges, and index pairs.
    alphabet: the characters to learn from, and tokens that no merge makes; None for bytes.
    progress: called about twenty times a second and at the end, with the merges since its last call, none or more,
        and how often the last one occurred.
    span: how many times rarer than the commonest pair a pair may be to be indexed; the result is always the same.
    min_slots: how many tokens a thread that indexes pairs has at least; the result is always the same.
)");

  module.def(
      "learn_parity_merges",
      [](const OpenRuns& counts, const OpenRuns& dev, const GivenLearningOptions& options, std::size_t max_merges,
         std::size_t global_merges, std::size_t window, double alpha, const std::vector<double>& ratios,
         const OnProgress& progress) {
        const LearningOptions learning = learning_options_from(options.value);
        const ParityOptions parity{learning, max_merges, global_merges, window, alpha, ratios};
        return parity_merges_of(counts, dev, parity, progress);
      },
      "counts"_a, "dev"_a, "options"_a, nb::kw_only(), "max_merges"_a, "global_merges"_a, "window"_a, "alpha"_a,
      "ratios"_a, "progress"_a.none(),
      R"(Learn merges as hf_bpe.reference._parity does, from counts of several languages.

Args:
    counts, dev: for each language what returns a sorted run, to be read from its beginning, several times.
    window: 0 for none.
    progress: called about twenty times a second, with the number of merges so far.

Returns:
    The merges, and for each the number of the language that it was learned for.
)");

  module.def(
      "training_bytes",
      [](const OpenRun& counts, const Merges& initial, std::size_t max_merges, const GivenPattern& parts,
         unsigned threads, const GivenAlphabet& alphabet) {
        TrainingOptions training{{}, max_merges};
        training.encoding = {pattern_of(parts), threads};
        training.sharing = {threads};
        set_alphabet(training, alphabet.value);
        const RunWords words = run_of(counts);
        const FirstTokens::Merges first = merges_from(initial);
        return without_gil([&](const auto& poll) { return training_bytes(words, first, training, poll); });
      },
      "counts"_a, "initial"_a, nb::kw_only(), "max_merges"_a, "parts"_a.none(), "threads"_a,
      "alphabet"_a.none() = nb::none(),
      "Return how many bytes of memory learn_merges takes beyond the words; rather too many than too few.");

  module.def(
      "count_characters",
      [](const OpenRun& counts) {
        const RunWords words = run_of(counts);
        const auto counted = without_gil([&](const auto& poll) { return count_characters(words, poll); });
        nb::dict numbers;
        for (const auto& [code, count] : counted) numbers[nb::int_(code)] = count;
        return Typed<nb::dict, "dict[int, int]">(numbers);
      },
      "counts"_a, "Return how often each character occurs in counted words, by code point.");

  module.def("pre_tokenize", &pre_tokenize, "text"_a, "pattern"_a.none(), nb::kw_only(), "simd"_a = nb::none(),
             "Cut text into pre-tokens.");
  module.def("simd_names", &names_of_simd,
             "Return what the scanner can use on this machine: \"scalar\", and \"avx2\" or \"neon\".");

  module.def("find_last_cut", &find_last_cut_in, "text"_a, "pattern"_a.none(), "special_tokens"_a,
             "Return the last place at which text can be cut without changing a count, whatever follows; 0 if there is "
             "none.");

  bind_patterns(module);
  bind_encoder(module);
  bind_files(module);
  bind_nfc(module);
  bind_row_results(module);
  bind_runs(module);
  bind_token_bytes(module);
}
