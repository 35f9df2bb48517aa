// Short texts whose new words are merged together have the ids that each has alone.
#include <algorithm>
#include <string>
#include <vector>

#include "examples.hpp"
#include "merge/word_ids.hpp"
#include "naive_encoding.hpp"
#include "random.hpp"

using namespace naive;

namespace {

// All bytes, and random merges of what there is.
Model draw_model() {
  static const std::string letters = "elow r\xC3\xA9\xE4";
  Model model;
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  std::vector<std::string> parts;
  for (const char letter : letters) parts.emplace_back(1, letter);
  for (int i = 0; i < 30; ++i) {
    const std::string first = draw_from(parts), second = draw_from(parts);
    const bool is_new = std::find(tokens.begin(), tokens.end(), first + second) == tokens.end();
    if (!is_new) continue;
    model.merges.emplace_back(first, second);
    tokens.push_back(first + second);
    parts.push_back(first + second);
  }
  set_tokens(model, tokens);
  return model;
}

std::string draw_ascii(std::size_t size) {
  static const std::string letters = "elow rrr";
  std::string text;
  while (text.size() < size) text += draw(200) ? letters[draw(letters.size())] : '<';
  return text;
}

// Memory of a text and the same text in UTF-8. Latin-1 and UCS-2 have an é or 你 here and there.
struct Drawn {
  std::vector<Byte> memory;
  unsigned width;
  std::string utf8;

  explicit Drawn(std::size_t size) : width(static_cast<unsigned>(draw(3))) {
    for (const char letter : draw_ascii(size)) {
      const bool is_wide = width != 0 && draw(10) == 0;
      const std::uint32_t code = !is_wide ? static_cast<Byte>(letter) : width == 1 ? 0xE9 : 0x4F60;
      utf8 += to_utf8(code);
      memory.push_back(static_cast<Byte>(code));
      if (width == 2) memory.push_back(static_cast<Byte>(code >> 8));
    }
  }
  Text text() const { return {memory.data(), memory.data() + memory.size(), false, false, width}; }
};

std::size_t draw_size() {
  const std::size_t kind = draw(40);
  return kind == 0 ? 15'000 + draw(4'000) : kind < 4 ? draw(6'000) : kind < 8 ? draw(3) : draw(300);
}

using Ids = std::vector<std::uint32_t>;

void check_texts(const Encoder& encoder, const Encoder& other, unsigned threads) {
  std::vector<Drawn> drawn;
  for (std::size_t i = 1 + draw(200); i > 0; --i) drawn.emplace_back(draw_size());
  std::vector<Text> texts;
  for (const Drawn& each : drawn) texts.push_back(each.text());
  EncodingOptions options;
  options.threads = threads;
  const auto no_poll = [](std::size_t) {};
  const Encoder::Encoded encoded = encoder.encode(texts, options, no_poll);
  const std::vector<std::int64_t> counts = encoder.count(texts, options, no_poll);
  CHECK(encoded.offsets.size() == texts.size() + 1);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    Ids alone;
    const std::string& utf8 = drawn[i].utf8;
    const auto keep = [&](const IdBuffer& ids) { alone.assign(ids.begin(), ids.end()); };
    other.encode_short({begin_of(utf8), end_of(utf8)}, options, keep, kNoPoll);
    const Ids ids(encoded.ids.begin() + encoded.offsets[i], encoded.ids.begin() + encoded.offsets[i + 1]);
    CHECK(ids == alone);
    CHECK(counts[i] == static_cast<std::int64_t>(alone.size()));
  }
}

void test_texts_of_a_call_have_the_ids_that_each_has_alone() {
  for (int i = 0; i < threaded_examples(40); ++i) {
    const Model model = draw_model();
    const std::size_t chunk_bytes = draw(2) ? Encoder::kChunkBytes : 40'000;  // wide texts fit in it
    const Simd simd = draw(2) ? widest_simd() : Simd::kScalar;
    const Encoder base(model.vocabulary(), Pattern::kGpt2, simd, chunk_bytes),
        other(model.vocabulary(), Pattern::kGpt2);
    const std::vector<AddedToken> tokens = {{"<", 1000}, {"w<", 1001}};
    const unsigned threads = 1 + static_cast<unsigned>(draw(2));
    if (draw(2)) {
      for (int call = 0; call < 3; ++call) check_texts(base, other, threads);
    } else {
      const Encoder encoder = base.with_added_tokens(tokens), other_encoder = other.with_added_tokens(tokens);
      for (int call = 0; call < 3; ++call) check_texts(encoder, other_encoder, threads);
    }
  }
}

// The last of them may have been abandoned, as by an interrupt.
void test_words_may_wait_for_those_of_later_texts() {
  const Model model = draw_model();
  const Vocabulary vocabulary = model.vocabulary();
  const LazyBacktracking backtracking(vocabulary);
  WordIds<std::uint16_t> words(vocabulary, backtracking, nullptr);
  for (int group = 0; group < examples(300); ++group) {
    words.begin_waiting();
    std::vector<std::string> texts;
    std::size_t size = 0;
    for (std::size_t i = draw(20); i > 0; --i) size += texts.emplace_back(draw_ascii(draw(30))).size();
    Ids ids(size + WordIds<std::uint16_t>::kSlack);
    std::uint32_t* end = ids.data();
    std::vector<std::uint32_t*> ends;
    std::vector<Ids> expected;
    for (const std::string& text : texts) {
      expected.emplace_back();
      std::vector<const Byte*> word_ends;
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = std::min(1 + draw(8), text.size() - at);
        encode_word(model, text.substr(at, length), expected.back());
        word_ends.push_back(begin_of(text) + (at += length));
      }
      CHECK(words.may_wait(text.size()));
      end = words.encode_later(begin_of(text), word_ends.data(), word_ends.size(), end_of(text), end, kNoPoll);
      ends.push_back(end);
    }
    if (draw(4) == 0) continue;
    end = words.finish(end, ends);
    CHECK(ends.empty() || ends.back() == end);
    const std::uint32_t* begin = ids.data();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      CHECK(Ids(begin, static_cast<const std::uint32_t*>(ends[i])) == expected[i]);
      begin = ends[i];
    }
  }
}

void test_memory_of_the_cache_is_limited() {
  constexpr std::size_t kLength = 200, kWords = 200;
  const Model model = draw_model();  // without merges of digits
  const Vocabulary vocabulary = model.vocabulary();
  const LazyBacktracking backtracking(vocabulary);
  WordIds<std::uint16_t> words(vocabulary, backtracking, nullptr);
  Ids ids(kLength * kWords + WordIds<std::uint16_t>::kSlack);
  for (std::size_t number = 0; number < 300'000;) {
    std::string text;
    for (std::size_t i = 0; i < kWords; ++i, ++number) {
      const std::string digits = std::to_string(number);
      text += digits + std::string(kLength - digits.size(), '-');
    }
    std::vector<const Byte*> ends;
    for (std::size_t i = 1; i <= kWords; ++i) ends.push_back(begin_of(text) + i * kLength);
    const std::uint32_t* end = words.encode(begin_of(text), ends.data(), kWords, end_of(text), ids.data(), kNoPoll);
    CHECK(end == ids.data() + text.size());
    CHECK(words.bytes() < std::size_t{64} << 20);
  }
}

}  // namespace

int main() {
  test_texts_of_a_call_have_the_ids_that_each_has_alone();
  test_words_may_wait_for_those_of_later_texts();
  test_memory_of_the_cache_is_limited();
  return 0;
}
