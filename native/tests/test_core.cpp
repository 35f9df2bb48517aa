// The core against naive definitions, on random input that is the same in every run.
#include <atomic>
#include <random>
#include <stdexcept>

#include "naive.hpp"

using namespace naive;

namespace {

std::mt19937 generator(1);

std::size_t draw(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(generator); }

template <class T>
const T& draw_from(const std::vector<T>& choices) {
  return choices[draw(choices.size())];
}

const std::vector<Pattern> kPatterns = {Pattern::kNone, Pattern::kGpt2, Pattern::kCl100k, Pattern::kQwen2,
                                        Pattern::kO200k};

std::string draw_text(std::size_t pieces) {
  static const std::vector<std::string> fragments = {
      "low",      " lower", "A",      "HTMLParser", "'s",   "'LL",        "'",      "don't ",   "1",          "2345",
      " ",        "  ",     "\n",     "\r\n",       "\t",   "   \n    ",  "//\n",   ";\n/",     "!!",         ", (x)",
      "\xC3\xA9", "\xCC\x81", "\xE4\xBD\xA0", "\xC2\xA0", "\xE3\x80\x80", "\xF0\x9F\x91\x8B", "\xC5\xBF", "\xF0\x9D\x9F\x99"};
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

void test_scanner() {
  for (int i = 0; i < 20'000; ++i) check_scanner(draw_from(kPatterns), draw_text(60));
}

void test_word_counts() {
  Words expected;
  WordCounts counts, other;
  for (int i = 0; i < 60'000; ++i) {
    const std::string word = std::to_string(draw(9000)) + std::string(draw(20), 'x');
    const std::uint64_t count = draw(3);
    if (count != 0) expected[word] += count;
    (i % 2 ? counts : other).add(begin_of(word), word.size(), count);
  }
  counts.add(other);
  CHECK(to_map(counts) == expected);
  CHECK(counts.find(begin_of("missing"), 7) == 0);
}

void test_counter() {
  const std::vector<std::string> specials = {"<x>", "<x>y", "x>y", " low", "\n", "'s", "lowlow"};
  for (int i = 0; i < 3000; ++i) {
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
    const auto found = counter.add({{begin_of(good), end_of(good), true, false},
                                    {begin_of(bad), end_of(bad), false, false},
                                    {begin_of(text), end_of(text), true, false}},
                                   [](std::size_t) {});
    CHECK(found && found->text == 2 && found->offset == offset);
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

void test_trainer() {
  const std::vector<std::string> alphabets = {"a", "ab", "abc", "a\xFF", " !\xC4"};
  for (int i = 0; i < 6000; ++i) {
    const std::string& alphabet = draw_from(alphabets);
    Words words;
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
    options.span = draw_from<std::uint64_t>({1, 2, 64});
    check_trainer(words, options);
  }
}

void test_too_many_pairs_are_refused() {
  Words words = {{"abc", std::uint64_t{1} << 63}};
  bool is_caught = false;
  try {
    check_trainer(words, {.max_merges = 1});
  } catch (const std::overflow_error&) {
    is_caught = true;
  }
  CHECK(is_caught);
}

}  // namespace

int main() {
  test_scanner();
  test_word_counts();
  test_counter();
  test_invalid_utf8_is_found();
  test_what_poll_throws_is_passed_on();
  test_trainer();
  test_too_many_pairs_are_refused();
}
