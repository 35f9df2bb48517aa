// The core compared with naive implementations, on random input that is the same in every run.
#include <limits>
#include <stdexcept>
#include <thread>

#include "examples.hpp"
#include "naive.hpp"
#include "random.hpp"
#include "support/pages.hpp"
#include "tables/packed_table.hpp"

using namespace naive;

namespace {

std::string draw_text(std::size_t pieces) {
  static const std::vector<std::string> fragments = {
      "low", " lower", "A", "HTMLParser", "'s", "'LL", "'", "don't ", "1", "2345", " ", "  ", "\n", "\r\n", "\t",
      "   \n    ", "//\n", ";\n/", "!!", ", (x)", "\xC3\xA9", "\xCC\x81", "\xE4\xBD\xA0", "\xC2\xA0", "\xE3\x80\x80",
      "\xF0\x9F\x91\x8B", "\xC5\xBF", "\xF0\x9D\x9F\x99",
      // A letter, number, symbol and mark of Han; a letter, mark, symbol and unassigned code point of kana.
      "\xE3\x90\x80", "\xE3\x80\x87", "\xE2\xBA\x80", "\xF0\x96\xBF\xB0", "\xE3\x81\x8B", "\xE3\x82\x99",
      "\xE3\x83\xBB", "\xE3\x81\x80",
      // A symbol, a control and an unassigned code point.
      "\xE2\x80\x94", "\x01", "\xCD\xB8"};
  std::string text;
  for (std::size_t i = draw(pieces + 1); i > 0; --i) {
    if (draw(12) == 0) {
      text += static_cast<char>(draw(256));
    } else {
      text += draw_from(fragments);
    }
  }
  return text;
}

// Of few characters, mostly neighbors in Unicode, so that runs of a class and what ends them meet the ends of windows.
std::string draw_text_of_few_characters(std::size_t pieces) {
  static const std::vector<std::string> ascii = {" ", " ",  "  ", "\n", "a",  "B",   "1",
                                                 "!", "'s", "'",  "/",  "\t", "\x01"};
  static const std::vector<std::string> broken = {
      "\x80",         "\xC1\x80",         "\xC3",         "\xE0\x9F\x80",     "\xE4\xBD",
      "\xED\xA0\x80", "\xF0\x8F\x80\x80", "\xF0\x9F\x98", "\xF4\x90\x80\x80", "\xF5"};
  static const std::vector<std::uint32_t> limits = {0x100, 0x600, 0x800, 0x2100, 0x3100, 0x10000, 0x20000};
  std::vector<std::string> characters = {draw_from(ascii)};
  const std::uint32_t near = static_cast<std::uint32_t>(draw(draw_from(limits)));
  for (std::size_t i = 1 + draw(8); i > 0; --i) {
    const std::size_t kind = draw(20);
    const auto code = near ^ static_cast<std::uint32_t>(draw(kind < 10 ? 64 : 4096));
    characters.push_back(kind == 0                        ? draw_from(broken)
                         : kind < 5 || code >> 11 == 0x1B ? draw_from(ascii)
                                                          : to_utf8(code));
  }
  std::string text;
  for (std::size_t i = draw(pieces + 1); i > 0; --i) text += draw_from(characters);
  return text;
}

void test_scanner() {
  for (int i = 0; i < examples(24'000); ++i) check_scanner(draw_from(kPatterns), draw_text(60));
  for (int i = 0; i < examples(16'000); ++i) check_scanner(draw_from(kPatterns), draw_text_of_few_characters(100));
}

// The portable scanner and the vector scanner agree about each character.
void test_all_characters_in_windows() {
  std::string text;
  for (std::uint32_t code = 0x80; code < 0x20000; ++code) {
    if (code >> 11 == 0x1B) continue;
    const std::string character = to_utf8(code);
    text += "a" + character + "B" + character + character + "b " + character + " ";
    if (text.size() < 60'000) continue;
    for (const Pattern& pattern : kPatterns) {
      const auto ends_with = [&](Simd simd) {
        std::vector<const Byte*> all;
        const auto add = [&](const Byte*, const Byte* const* ends, std::size_t n) {
          all.insert(all.end(), ends, ends + n);
        };
        Scanner(pattern, simd).scan_all(begin_of(text), end_of(text), add);
        return all;
      };
      CHECK(ends_with(Simd::kScalar) == ends_with(widest_simd()));
    }
    text.clear();
  }
}

void test_word_counts() {
  WordMap expected;
  WordCounts counts;
  for (int i = 0; i < examples(60'000); ++i) {
    const std::string word = std::to_string(draw(9000)) + std::string(draw(20), 'x');
    const std::uint64_t count = draw(3);
    if (count != 0) expected[word] += count;
    counts.add(begin_of(word), word.size(), count);
  }
  CHECK(to_map(counts) == expected);
}

// Up to where their memory is mapped, and moved when it grows.
void test_large_tables_grow() {
  constexpr std::uint64_t kWords = 500'000;
  WordCounts counts;
  const auto word_of = [](std::uint64_t i) { return std::to_string(i) + (i % 5 == 0 ? " of more than 15 bytes" : ""); };
  for (std::uint64_t i = 1; i <= kWords; ++i) {
    const std::string word = word_of(i);
    counts.add(begin_of(word), word.size(), i);
  }
  CHECK(counts.size() == kWords);
  for (std::uint64_t i = 1; i <= kWords; ++i) {
    const std::string word = word_of(i);
    counts.add(begin_of(word), word.size(), 1);
  }
  CHECK(counts.size() == kWords);
  std::vector<bool> is_found(kWords + 1);
  counts.for_each([&](const Byte* word, std::size_t length, std::uint64_t count) {
    CHECK(count > 1 && count <= kWords + 1 && !is_found[count - 1]);
    CHECK(std::string(reinterpret_cast<const char*>(word), length) == word_of(count - 1));
    is_found[count - 1] = true;
  });
}

// Otherwise text could be constructed that collides in every table.
void test_tables_have_orders_of_their_own() {
  const auto words_in_order = [] {
    WordCounts counts;
    std::vector<std::string> words;
    Byte room[16];
    for (int i = 0; i < 1000; ++i) {
      const std::string word = std::to_string(i) + (i % 2 ? " of more than 15 bytes" : "");
      counts.add(begin_of(word), word.size(), 1);
    }
    for (std::size_t slot = 0; slot < counts.slots(); ++slot) {
      if (counts.count_at(slot) == 0) continue;
      words.emplace_back(reinterpret_cast<const char*>(counts.word_at(slot, room)), counts.length_at(slot));
    }
    return words;
  };
  CHECK(words_in_order() != words_in_order());
}

void test_pairs_that_collide_in_one_table_do_not_in_another() {
  const PackedTable<21, 21, 22> table(10'000), other(10'000);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::uint32_t first = 0; first < 4000; ++first) {
    for (std::uint32_t second = 0; second < 1000; ++second) {
      if (table.bucket_of(first, second) == 0) pairs.emplace_back(first, second);
    }
  }
  std::vector<std::size_t> buckets;
  for (const auto& [first, second] : pairs) buckets.push_back(other.bucket_of(first, second));
  std::sort(buckets.begin(), buckets.end());
  const auto different = std::unique(buckets.begin(), buckets.end()) - buckets.begin();
  CHECK(pairs.size() > 100 && static_cast<std::size_t>(different) > pairs.size() / 4);
}

// Words as from a scanner, the last at the end of readable memory; the table grows within batches.
void test_words_of_a_text() {
  for (int round = 0; round < examples(20); ++round) {
    WordCounts counts;
    WordMap expected;
    std::string joined;
    std::vector<std::size_t> lengths;
    for (std::size_t i = draw(9000); i > 0; --i) {
      // Many differ in a zero at the end only.
      std::string word(1 + draw(draw(3) == 0 ? 50 : 18), draw(2) ? 'a' : '\0');
      word[draw(word.size())] = static_cast<char>(draw(256));
      ++expected[word];
      joined += word;
      lengths.push_back(word.size());
    }
    const std::vector<char> text(joined.begin(), joined.end());
    const Byte* begin = reinterpret_cast<const Byte*>(text.data());
    std::vector<const Byte*> ends;
    const Byte* end = begin;
    for (const std::size_t length : lengths) ends.push_back(end += length);
    counts.add_each(begin, ends.data(), ends.size(), end);
    CHECK(to_map(counts) == expected);
  }
}

void test_counts_past_64_bits_are_refused() {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  for (const std::string word : {"low", "a word of more than 15 bytes"}) {
    WordCounts counts;
    counts.add(begin_of(word), word.size(), kMax);
    bool is_caught = false;
    try {
      counts.add(begin_of(word), word.size(), 1);
    } catch (const std::overflow_error&) {
      is_caught = true;
    }
    CHECK(is_caught && to_map(counts) == (WordMap{{word, kMax}}));
  }
}

void test_counter() {
  const std::vector<std::string> specials = {"<x>", "<x>y", "x>y", " low", "\n", "'s", "lowlow"};
  for (int i = 0; i < threaded_examples(3000); ++i) {
    CountingOptions options;
    options.pattern = draw_from(kPatterns);
    for (std::size_t j = draw(4); j > 0; --j) options.special_tokens.push_back(draw_from(specials));
    options.threads = static_cast<unsigned>(1 + draw(4));
    options.chunk_bytes = 1 + draw(300);
    options.simd = draw(2) ? widest_simd() : Simd::kScalar;
    std::vector<std::string> texts(draw(5));
    for (std::string& text : texts) {
      for (int part = 0; part < 3; ++part) text += draw_text(30) + (draw(2) ? draw_from(specials) : "");
    }
    check_counter(options, texts);
  }
}

void test_invalid_utf8_is_found() {
  const std::string good = "low \xC3\xA9 \xF0\x9F\x91\x8B ";
  for (const std::string bad : {"\xFF", "\xC3", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xC0\x80", "\xE2\x82"}) {
    std::string text;
    for (int i = 0; i < 100; ++i) text += good;
    const std::size_t offset = text.size();
    text += bad + " " + good + bad;
    CountingOptions options;
    options.threads = 3;
    options.chunk_bytes = 50;
    Counter counter(options);
    const auto found = counter
                           .add({{begin_of(good), end_of(good), true, false},
                                 {begin_of(bad), end_of(bad), false, false},
                                 {begin_of(text), end_of(text), true, false}},
                                [](std::size_t) {})
                           .invalid;
    CHECK(found && found->text == 2 && found->offset == offset);
    CHECK(
        !counter.add({{begin_of(good), end_of(good), true, false}}, [](std::size_t) {}).invalid);  // which is forgotten
  }
}

void test_first_of_many_invalid_places_is_found() {
  for (int i = 0; i < threaded_examples(2000); ++i) {
    std::vector<std::string> texts(draw(5));
    std::vector<Text> borrowed;
    std::optional<std::pair<std::size_t, std::size_t>> expected;
    for (std::string& text : texts) {
      text = draw_text(60);
      const bool must_be_utf8 = draw(4) != 0;
      const auto invalid = find_invalid_utf8(text);
      if (must_be_utf8 && invalid && !expected) expected.emplace(borrowed.size(), *invalid);
      borrowed.push_back({begin_of(text), end_of(text), must_be_utf8, false});
    }
    CountingOptions options;
    options.pattern = draw_from(kPatterns);
    options.threads = static_cast<unsigned>(1 + draw(4));
    options.chunk_bytes = 1 + draw(100);
    const auto found = Counter(options).add(borrowed, [](std::size_t) {}).invalid;
    CHECK(found.has_value() == expected.has_value());
    CHECK(!found || std::pair(found->text, found->offset) == *expected);
  }
}

void test_poll_is_called_by_the_caller_and_sees_all() {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "low lower ";
  for (const unsigned threads : {1u, 2u, 4u}) {
    CountingOptions options;
    options.threads = threads;
    options.chunk_bytes = 100;
    std::size_t last = 0;
    const std::thread::id caller = std::this_thread::get_id();
    Counter(options).add({{begin_of(text), end_of(text), false, false}}, [&](std::size_t done) {
      CHECK(std::this_thread::get_id() == caller && done >= last);
      last = done;
      std::this_thread::yield();  // so that the other threads get work
    });
    CHECK(last == text.size());
  }
}

void test_what_poll_throws_is_passed_on() {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "low lower ";
  CountingOptions options;
  options.threads = 4;
  options.chunk_bytes = 100;
  Counter counter(options);
  for (int i = 0; i < 20; ++i) {
    bool is_caught = false;
    try {
      counter.add({{begin_of(text), end_of(text), false, false}}, [](std::size_t done) {
        if (done > 3000) throw std::runtime_error("enough");
      });
    } catch (const std::runtime_error&) {
      is_caught = true;
    }
    CHECK(is_caught);
  }
}

void test_invalid_utf8_before_an_exception_is_forgotten() {
  const std::string good = "low", bad = "\xFF";
  Counter counter({});
  bool is_caught = false;
  try {
    counter.add({{begin_of(bad), end_of(bad), true, false}}, [](std::size_t) { throw std::runtime_error("enough"); });
  } catch (const std::runtime_error&) {
    is_caught = true;
  }
  CHECK(is_caught);
  CHECK(!counter.add({{begin_of(good), end_of(good), true, false}}, [](std::size_t) {}).invalid);
  CHECK(to_map(counter.take()) == (WordMap{{"low", 1}}));
}

// In any order, and often several merges for one token.
Merges draw_merges(const std::string& alphabet) {
  std::vector<std::string> tokens;
  for (const char byte : alphabet) tokens.emplace_back(1, byte);
  Merges merges;
  for (std::size_t i = draw(12); i > 0; --i) {
    const std::pair pair(draw_from(tokens), draw_from(tokens));
    if (std::find(merges.begin(), merges.end(), pair) != merges.end()) continue;
    merges.push_back(pair);
    tokens.push_back(pair.first + pair.second);
  }
  if (draw(2)) std::shuffle(merges.begin(), merges.end(), generator);
  return merges;
}

void test_trainer() {
  const std::vector<std::string> alphabets = {"a", "ab", "abc", "a\xFF", " !\xC4", " a:"};
  for (int i = 0; i < examples(6000); ++i) {
    const std::string& alphabet = draw_from(alphabets);
    WordMap words;
    for (std::size_t j = draw(9); j > 0; --j) {
      std::string word;
      for (std::size_t length = 1 + draw(24); length > 0; --length) word += alphabet[draw(alphabet.size())];
      words[word] += draw(8) == 0 ? (std::uint64_t{1} << 54) + draw(3) : 1 + draw(draw(2) ? 5 : 3000);
    }
    TrainingOptions options;
    options.max_merges = draw(40);
    options.lexicographic = draw(2);
    options.min_frequency = draw(2) ? draw(6) : 1;
    if (draw(3) == 0) options.max_token_bytes = 1 + draw(9);
    options.length_penalty = draw_from<double>({0, 0, 0.1, 0.5, 3});
    if (draw(3) == 0) options.words = {1 + draw(3), draw(2) == 0};
    options.encoding = {draw_from<Pattern::Name>({Pattern::kGpt2, Pattern::kO200k, Pattern::kNone}),
                        static_cast<unsigned>(1 + draw(3))};
    options.span = draw_from<std::uint64_t>({1, 2, 64});
    // Not always, because starting threads takes time.
    if (draw(kOneOf == 1 ? 8 : 2) == 0) options.sharing = {static_cast<unsigned>(2 + draw(3)), 1 + draw(20)};
    check_trainer(words, i % 2 ? Merges() : draw_merges(alphabet), options);
  }
}

void test_symbols_are_in_the_order_of_their_characters() {
  std::vector<std::pair<int, int>> of_char;
  int next = 0x100;  // what vocab.json writes for a byte that is not printable
  for (int byte = 0; byte < 256; ++byte) {
    const bool is_printable = byte > 0x20 && byte != 0xAD && (byte < 0x7F || byte > 0xA0);
    of_char.emplace_back(is_printable ? byte : next++, byte);
  }
  std::sort(of_char.begin(), of_char.end());
  for (std::size_t i = 0; i < 256; ++i) CHECK(bytes_of_symbols()[i] == of_char[i].second);
}

void test_too_many_pairs_are_refused() {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  check_trainer({{"ab", kMax}}, {}, {.max_merges = 1});
  check_trainer({{"abc", kMax / 2}}, {}, {.max_merges = 2});
  check_trainer({{"ab", kMax}}, {}, {{.min_frequency = kMax}, 1});
  WordMap words = {{"abc", kMax / 2 + 1}};
  bool is_caught = false;
  try {
    check_trainer(words, {}, {.max_merges = 1});
  } catch (const std::overflow_error&) {
    is_caught = true;
  }
  CHECK(is_caught);
}

// Arrays of exactly 2 MB are mapped, and so are those from 4 MB on; what lies between is not.
void test_arrays_of_all_sizes_shrink_and_grow() {
  constexpr std::size_t kMegabyte = std::size_t{1} << 20;
  const std::vector<std::size_t> sizes = {kMegabyte, 2 * kMegabyte, 3 * kMegabyte, 4 * kMegabyte, 6 * kMegabyte};
  for (const std::size_t from : sizes) {
    for (const std::size_t to : sizes) {
      Pages<Byte> pages(from);
      pages.shrink(to);
      const bool is_smaller = to < from && PageMemory::is_mapped(from) && PageMemory::is_mapped(to);
      CHECK(pages.size() == (is_smaller ? to : from));
      for (Byte& byte : pages) byte = 1;
      const std::size_t size = pages.size();
      pages.grow(size + to);
      CHECK(pages.size() == size + to);
      CHECK(std::count(pages.begin(), pages.begin() + size, 1) == static_cast<std::ptrdiff_t>(size));
      CHECK(std::count(pages.begin() + size, pages.end(), 0) == static_cast<std::ptrdiff_t>(to));
      for (Byte& byte : pages) byte = 1;
    }
  }
}

}  // namespace

int main() {
  test_scanner();
  test_all_characters_in_windows();
  test_arrays_of_all_sizes_shrink_and_grow();
  test_word_counts();
  test_large_tables_grow();
  test_tables_have_orders_of_their_own();
  test_pairs_that_collide_in_one_table_do_not_in_another();
  test_words_of_a_text();
  test_counts_past_64_bits_are_refused();
  test_counter();
  test_invalid_utf8_is_found();
  test_first_of_many_invalid_places_is_found();
  test_poll_is_called_by_the_caller_and_sees_all();
  test_what_poll_throws_is_passed_on();
  test_invalid_utf8_before_an_exception_is_forgotten();
  test_symbols_are_in_the_order_of_their_characters();
  test_trainer();
  test_too_many_pairs_are_refused();
}
