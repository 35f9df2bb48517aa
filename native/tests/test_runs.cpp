// Sorted runs, and the counting that makes them, compared with maps.
#include <limits>
#include <stdexcept>

#include "count/runs.hpp"
#include "examples.hpp"
#include "naive.hpp"
#include "random.hpp"

using namespace naive;

namespace {

std::string read_all(MergedRun&& merger, std::size_t piece_bytes) {
  std::string run;
  for (;;) {
    std::string piece;
    merger.read(piece_bytes, piece, kNoPoll);
    if (piece.empty()) return run;
    run += piece;
  }
}

RunReader::Refill refill_from(const std::string& run, std::size_t most) {
  return [&run, most, at = std::size_t{0}](Byte* to, std::size_t room) mutable {
    const std::size_t size = std::min({room, most, run.size() - at});
    std::copy_n(begin_of(run) + at, size, to);
    at += size;
    return size;
  };
}

std::vector<std::pair<std::string, std::uint64_t>> words_of(SortedWords& words) {
  std::vector<std::pair<std::string, std::uint64_t>> all;
  while (words.next()) all.emplace_back(std::string(words.word(), words.word() + words.length()), words.count());
  return all;
}

std::vector<std::pair<std::string, std::uint64_t>> words_of(WordCounts table) {
  table.sort(kNoPoll);
  std::vector<std::pair<std::string, std::uint64_t>> all;
  for (std::size_t slot = 0; slot < table.size(); ++slot) {
    Byte room[16];
    const Byte* const word = table.word_at(slot, room);
    all.emplace_back(std::string(word, word + table.length_at(slot)), table.count_at(slot));
  }
  return all;
}

std::string run_of(const WordMap& words) {
  std::vector<WordCounts> tables;
  tables.push_back(to_table(words));
  return read_all(TableMerger(std::move(tables), kNoPoll), std::size_t{1} << 40);
}

// Words that begin alike, also around the length up to which a table keeps them in its keys, and with zeros.
std::string draw_word() {
  static const std::vector<std::string> alphabets = {"a", std::string("a\0", 2), "ab\xFF"};
  const std::string& alphabet = draw_from(alphabets);
  std::string word(draw(2) ? draw(20) : 0, 'a');
  for (std::size_t length = 1 + draw(draw(2) ? 4 : 24); length > 0; --length) word += alphabet[draw(alphabet.size())];
  return word;
}

WordMap draw_words(std::size_t most) {
  WordMap words;
  for (std::size_t i = draw(most + 1); i > 0; --i) words[draw_word()] += 1 + draw(300);
  return words;
}

void test_tables_are_sorted() {
  for (int i = 0; i < examples(3000); ++i) {
    const WordMap words = draw_words(draw(2) ? 10 : 200);
    CHECK(words_of(to_table(words)) ==
          (std::vector<std::pair<std::string, std::uint64_t>>(words.begin(), words.end())));
  }
}

void test_runs_are_read_back_and_merged() {
  for (int i = 0; i < examples(2000); ++i) {
    const std::uint64_t least = draw(3) == 0 ? draw(500) : 1;
    std::vector<std::string> runs;
    std::vector<std::uint64_t> multipliers;
    WordMap sums;
    for (std::size_t inputs = draw(6); inputs > 0; --inputs) {
      const WordMap words = draw_words(40);
      runs.push_back(run_of(words));
      multipliers.push_back(1 + draw(9));
      for (const auto& [word, count] : words) sums[word] += count * multipliers.back();
      RunReader reader(refill_from(runs.back(), 1 + draw(30)), 1 + draw(50));
      CHECK(words_of(reader) == (std::vector<std::pair<std::string, std::uint64_t>>(words.begin(), words.end())));
    }
    std::erase_if(sums, [&](const auto& entry) { return entry.second < least; });
    std::vector<RunMerger::Input> inputs;
    for (std::size_t input = 0; input < runs.size(); ++input) {
      inputs.push_back({std::make_unique<RunReader>(refill_from(runs[input], 1 + draw(30))), multipliers[input]});
    }
    CHECK(read_all(RunMerger(std::move(inputs), least), 1 + draw(100)) == run_of(sums));
  }
}

// Cut into ranges that are merged in threads, whose words begin alike and some of which are in several tables.
void test_tables_are_merged() {
  for (int i = 0; i < threaded_examples(600); ++i) {
    std::vector<WordCounts> tables(draw(5));
    WordMap sums;
    for (WordCounts& table : tables) {
      const WordMap words = draw_words(draw(4) ? 100 : 3);
      for (const auto& [word, count] : words) sums[word] += count;
      table = to_table(words);
    }
    TableMerger merger(std::move(tables), kNoPoll, 1 + draw(20));
    CHECK(read_all(std::move(merger), 1 + draw(1000)) == run_of(sums));
  }
}

void test_sums_of_merged_tables_have_128_bits() {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  std::vector<WordCounts> tables;
  for (const WordMap& words : {WordMap{{"a", kMax}, {"c", kMax}}, WordMap{{"b", kMax}, {"d", 3}}}) {
    tables.push_back(to_table(words));
  }
  TableMerger merger(std::move(tables), kNoPoll, 1);
  std::string run;
  merger.read(std::size_t{1} << 40, run, kNoPoll);
  CHECK(merger.words() == 4 && merger.total_high() == 3 && merger.total_low() == 0);
}

void test_sums_past_64_bits_are_refused() {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  const std::string run = run_of({{"a", kMax / 2 + 1}});
  for (const bool is_multiplied : {false, true}) {
    std::vector<RunMerger::Input> inputs;
    inputs.push_back({std::make_unique<RunReader>(refill_from(run, 9)), is_multiplied ? 2u : 1u});
    if (!is_multiplied) inputs.push_back({std::make_unique<RunReader>(refill_from(run, 9)), 1});
    RunMerger merger(std::move(inputs));
    bool is_refused = false;
    std::string piece;
    try {
      merger.read(100, piece, kNoPoll);
    } catch (const std::overflow_error&) {
      is_refused = true;
    }
    CHECK(is_refused);
  }
}

// However little memory there is, whatever part of a text is asked for, and with weights.
void test_counts_in_parts_add_up() {
  static const std::vector<Pattern> patterns = {Pattern::kNone, Pattern::kGpt2, Pattern::kO200k};
  for (int i = 0; i < threaded_examples(1500); ++i) {
    CountingOptions options;
    options.pattern = draw_from(patterns);
    options.special_tokens = {"<x>", "<x>y", "x>"};
    options.threads = static_cast<unsigned>(1 + draw(3));
    options.chunk_bytes = 1 + draw(300);
    options.memory = draw(3) == 0 ? 0 : 1 + draw(400'000);
    const std::uint64_t weight = 1 + draw(5);
    std::string text;
    for (std::size_t pieces = draw(400); pieces > 0; --pieces) {
      static const std::vector<std::string> fragments = {"low", " lower", " ", "\n", "<x>", "y", "<", "1", "\xC3\xA9"};
      text += draw_from(fragments) + (draw(2) ? std::to_string(draw(100'000)) : "");
    }
    WordMap expected;
    count(expected, options, text);
    for (auto& entry : expected) entry.second *= weight;

    Counter counter(options);
    WordMap found;
    const auto take = [&] {
      for (WordCounts& table : counter.take()) {
        for (const auto& [word, count] : words_of(std::move(table))) found[word] += count;
      }
    };
    const std::size_t step = 1 + draw(text.size() + 10);
    for (std::size_t from = 0; from < text.size(); from += step) {
      const std::vector<Text> part = {{begin_of(text), end_of(text), false, false, 0, from, from + step}};
      std::size_t last = 0;
      const auto poll = [&](std::size_t done) {
        CHECK(done >= last);
        last = done;
      };
      for (std::size_t chunk = 0;;) {
        const Counter::Added added = counter.add(part, poll, weight, chunk);
        if (added.is_done) break;
        chunk = added.chunks;
        take();
      }
    }
    take();
    CHECK(found == expected);
  }
}

void test_tables_with_limits_do_not_grow() {
  CountingOptions options;
  options.memory = 1'000'000;
  options.threads = 2;
  Counter counter(options);
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += std::to_string(draw(1'000'000'000)) + " ";
  const std::vector<Text> texts = {{begin_of(text), end_of(text), false, false}};
  std::size_t times = 0;
  for (std::size_t chunk = 0;; ++times) {
    const Counter::Added added = counter.add(texts, [](std::size_t) {}, 1, chunk);
    for (const WordCounts& table : counter.take()) CHECK(table.slots() * 24 <= options.memory / options.threads);
    if (added.is_done) break;
    CHECK(added.chunks > chunk);
    chunk = added.chunks;
  }
  CHECK(times > 10);
}

void test_too_much_weight_is_refused() {
  const std::string text = "low";
  Counter counter({});
  const std::vector<Text> texts = {{begin_of(text), end_of(text), false, false}};
  counter.add(texts, [](std::size_t) {}, std::numeric_limits<std::uint64_t>::max() / 6);
  bool is_refused = false;
  try {
    counter.add(texts, [](std::size_t) {}, std::numeric_limits<std::uint64_t>::max() / 6 + 2);
  } catch (const std::overflow_error&) {
    is_refused = true;
  }
  CHECK(is_refused);
}

}  // namespace

int main() {
  test_tables_are_sorted();
  test_runs_are_read_back_and_merged();
  test_tables_are_merged();
  test_sums_of_merged_tables_have_128_bits();
  test_sums_past_64_bits_are_refused();
  test_counts_in_parts_add_up();
  test_tables_with_limits_do_not_grow();
  test_too_much_weight_is_refused();
}
