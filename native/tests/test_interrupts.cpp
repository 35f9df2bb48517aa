// Loops over long input call `poll` from time to time, and its exceptions end them.
#include <atomic>
#include <limits>
#include <thread>

#include "bindings/rows.hpp"
#include "count/runs.hpp"
#include "naive_encoding.hpp"

namespace {

using namespace naive;

struct Interrupted {};

// Whether `run` calls the given poll and propagates its exceptions, from the first or third call.
template <class Run>
bool is_interruptible(Run run) {
  for (const int calls : {1, 3}) {
    int left = calls;
    try {
      run([&left](auto...) {
        if (--left == 0) throw Interrupted();
      });
      return false;
    } catch (const Interrupted&) {
    }
  }
  return true;
}

constexpr std::size_t kLong = 1'000'000;

const Model kModel = [] {
  Model model;
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  for (std::string token = "a"; token.size() < 16; token += token) {
    model.merges.emplace_back(token, token);
    tokens.push_back(token + token);
  }
  set_tokens(model, tokens);
  return model;
}();

Encoder encoder_of(Pattern pattern) { return Encoder(kModel.vocabulary(), pattern); }

void test_merging() {
  const Vocabulary vocabulary = kModel.vocabulary();
  const std::string word(kLong, 'a');
  CHECK(is_interruptible([&](PollFunction poll) { Merger(vocabulary).merge(begin_of(word), word.size(), poll); }));
  const Backtracking backtracking(vocabulary, kNoPoll);
  std::vector<Symbol> symbols;
  CHECK(is_interruptible([&](PollFunction poll) { backtracking.merge(begin_of(word), word.size(), symbols, poll); }));
}

void test_preparing_to_backtrack() {
  Model model;
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  for (int i = 0; i < 1 << 16; ++i) {
    model.merges.emplace_back(tokens[static_cast<std::size_t>(i / 256)], tokens[static_cast<std::size_t>(i % 256)]);
    tokens.push_back(model.merges.back().first + model.merges.back().second);
  }
  set_tokens(model, tokens);
  const Vocabulary vocabulary = model.vocabulary();
  CHECK(is_interruptible([&](PollFunction poll) { Backtracking(vocabulary, poll); }));
}

void test_encoding() {
  const std::string one_word(kLong, 'a'), wide(4 * kLong, 'a');
  std::string words;
  while (words.size() < kLong) words += "a b";
  const Text wide_text{begin_of(wide), end_of(wide), false, false, 4};
  for (const Pattern pattern : {Pattern::kNone, Pattern::kGpt2}) {
    const Encoder encoder = encoder_of(pattern), with_token = encoder.with_added_tokens({{"b", 2000}});
    for (const Text& text : {text_of(one_word), text_of(words)}) {
      if (pattern == Pattern::kNone && text.begin == begin_of(words)) continue;  // has nothing to be merged
      CHECK(is_interruptible([&](auto poll) { encoder.encode({text}, {}, poll); }));
      CHECK(is_interruptible([&](auto poll) { encoder.count({text}, {}, poll); }));
      CHECK(is_interruptible([&](PollFunction poll) { encoder.encode_short(text, {}, [](const IdBuffer&) {}, poll); }));
      CHECK(is_interruptible([&](auto poll) { encoder.encode_with_offsets({text}, {}, decoder_of(kModel), poll); }));
    }
    CHECK(is_interruptible([&](auto poll) { with_token.encode({text_of(words)}, {}, poll); }));
    CHECK(is_interruptible([&](auto poll) { encoder.encode_with_offsets({wide_text}, {}, decoder_of(kModel), poll); }));
  }
  const Encoder encoder = encoder_of(Pattern::kNone);
  CHECK(is_interruptible([&](PollFunction poll) { encoder.find_last_cut(text_of(one_word), {}, poll); }));
}

void test_decoding() {
  const std::vector<std::uint32_t> ids(kLong, kModel.tokens[0].first);
  for (const std::string& skipped : {std::string(), std::string(10, 1)}) {
    std::string out;
    CHECK(is_interruptible(
        [&](PollFunction poll) { decoder_of(kModel).decode(ids.data(), ids.size(), skipped, out, poll); }));
  }
}

void test_rows() {
  const std::vector<std::uint32_t> ids(1);
  const std::vector<std::int64_t> spans(2000, 0);
  const Rows rows(ids, spans, {{}, {}});
  std::vector<std::int64_t> out(kLong), mask(kLong);
  CHECK(is_interruptible(
      [&](PollFunction poll) { rows.write_padded(kLong / 1000, 0, false, out.data(), mask.data(), poll); }));
}

void test_counting() {
  const std::string one_word(4 * kLong, 'a');
  std::string words;
  while (words.size() < 4 * kLong) words += "a b";
  for (const Pattern pattern : {Pattern::kNone, Pattern::kGpt2}) {
    for (const bool must_be_utf8 : {false, true}) {
      for (const std::string& text : {one_word, words}) {
        CountingOptions options;
        options.pattern = pattern;
        CHECK(is_interruptible(
            [&](auto poll) { Counter(options).add({{begin_of(text), end_of(text), must_be_utf8}}, poll); }));
      }
    }
  }
}

WordMap many_words(const std::string& prefix) {
  WordMap words;
  for (std::size_t i = 0; i < 60'000; ++i) words[prefix + std::to_string(i)] = 1;
  return words;
}

std::vector<WordCounts> tables_of(const WordMap& words, std::size_t copies) {
  std::vector<WordCounts> tables;
  while (tables.size() < copies) tables.push_back(to_table(words));
  return tables;
}

void test_sorting_and_merging_of_runs() {
  constexpr std::size_t kAll = std::size_t{1} << 40;
  for (const WordMap& words : {many_words(""), many_words("the same eight bytes at first, and many more")}) {
    CHECK(is_interruptible([&](PollFunction poll) { TableMerger merger(tables_of(words, 1), poll); }));
    std::string merged;
    TableMerger(tables_of(words, 1), kNoPoll).read(kAll, merged, kNoPoll);
    CHECK(is_interruptible([&](PollFunction poll) {
      std::string run;
      TableMerger(tables_of(words, 2), kNoPoll).read(kAll, run, poll);
    }));
    for (const std::uint64_t least : {std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max()}) {
      CHECK(is_interruptible([&](PollFunction poll) {
        std::vector<RunMerger::Input> inputs;
        for (int input = 0; input < 2; ++input) {
          const auto refill = [&merged, at = std::size_t{0}](Byte* to, std::size_t room) mutable {
            const std::size_t size = std::min(room, merged.size() - at);
            std::copy_n(begin_of(merged) + at, size, to);
            at += size;
            return size;
          };
          inputs.push_back({std::make_unique<RunReader>(refill), 1});
        }
        std::string run;
        RunMerger(std::move(inputs), least).read(kAll, run, poll);
      }));
    }
  }
}

void test_training() {
  for (const WordMap& words : {many_words("w"), WordMap{{std::string(kLong, 'a'), 1}}}) {
    const WordCounts table = to_table(words);
    for (const Merges& initial : {Merges(), kModel.merges}) {
      for (const unsigned threads : {1u, 2u}) {
        TrainingOptions options;
        options.max_merges = 30;
        options.sharing.threads = threads;
        CHECK(is_interruptible([&](auto poll) { learn_merges(table, initial, options, poll); }));
      }
    }
  }
  const WordCounts table = to_table(many_words("w"));
  TrainingOptions options;
  options.max_merges = 30;
  for (const Merges& initial : {Merges(), kModel.merges}) {
    CHECK(is_interruptible([&](PollFunction poll) { training_bytes(table, initial, options, poll); }));
  }
}

// Work that never ends by itself, in the calling thread or another thread.
void test_work_is_abandoned_once_poll_has_thrown() {
  const std::vector<Chunk> chunks(2, Chunk{0, 0, 0, 1});
  for (const bool is_in_caller : {false, true}) {
    CHECK(is_interruptible([&](auto poll) {
      std::atomic<bool> has_other_begun = false;
      const auto work = [&](std::size_t thread, std::size_t, const PollFunction& poll_in_chunk) {
        if (thread != 0) has_other_begun = true;
        if (thread != 0 || is_in_caller) {
          for (;;) poll_in_chunk();
        }
        while (!has_other_begun) std::this_thread::yield();
        return true;
      };
      for_each_chunk(chunks, 2, work, poll);
    }));
  }
}

// Chunks that a thread had started when another requested the end are still finished.
void test_work_that_was_begun_is_done_when_other_work_wants_no_more() {
  const std::vector<Chunk> chunks(2, Chunk{0, 0, 0, 1});
  std::atomic<int> begun = 0, polled = 0;
  const auto work = [&](std::size_t, std::size_t number, const PollFunction& poll_in_chunk) {
    ++begun;
    while (begun < 2) std::this_thread::yield();
    if (number == 0) return false;
    for (int i = 0; i < 1000; ++i) poll_in_chunk();
    ++polled;
    return true;
  };
  CHECK(for_each_chunk(chunks, 2, work, [](std::size_t) {}) == 2);
  CHECK(polled == 1);
}

}  // namespace

int main() {
  test_merging();
  test_preparing_to_backtrack();
  test_encoding();
  test_decoding();
  test_rows();
  test_counting();
  test_sorting_and_merging_of_runs();
  test_training();
  test_work_is_abandoned_once_poll_has_thrown();
  test_work_that_was_begun_is_done_when_other_work_wants_no_more();
}
