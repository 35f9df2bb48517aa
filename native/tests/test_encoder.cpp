// Tests of encoding and decoding without Python, for sanitizers; what they compare with is naive_encoding.hpp.
#include <thread>

#include "examples.hpp"
#include "random_models.hpp"

using namespace naive;

namespace {

const std::vector<std::string> kPieces = {"a",  "b", "ab", "abc", " ",    " a",   "\n",     "<",      "<x>",
                                          "x>", "1", "é",  "你",  "\xFF", "\xC3", "\u3000", "don't ", "low lower "};

std::string draw_text(std::size_t pieces) {
  std::string text;
  for (std::size_t i = draw(pieces); i > 0; --i) text += draw_from(kPieces);
  return text;
}

void test_encoder() {
  for (int i = 0; i < threaded_examples(600); ++i) {
    std::vector<std::string> specials, texts;
    for (std::size_t j = draw(4); j > 0; --j) {
      const std::string special = draw_from<std::string>({"<x>", "<x>a", "x>", "ab", " a", "\n", "你", ""});
      if (std::find(specials.begin(), specials.end(), special) == specials.end()) specials.push_back(special);
    }
    for (std::size_t j = 1 + draw(4); j > 0; --j) texts.push_back(draw_text(40));
    check_encoder(draw_model(), draw_from(kPatterns), specials, texts, 1 + static_cast<unsigned>(draw(3)), 1 + draw(60),
                  draw(2) ? widest_simd() : Simd::kScalar);
  }
}

void test_a_word_that_is_a_token_is_not_merged_whatever_its_length() {
  std::string word;
  for (std::size_t length = 1; length < 400; length += 1 + draw(2 * kOneOf - 1)) {
    while (word.size() < length) word += draw_from<std::string>({"a", "b"});
    Model model = make_model("ab", 20, draw(2), 0, draw);
    const auto is_it = [&](const auto& token) { return token.second == word; };
    const auto token = std::find_if(model.tokens.begin(), model.tokens.end(), is_it);
    model.whole_words.emplace_back(token == model.tokens.end() ? 3000 : token->first, word);
    if (token == model.tokens.end()) model.tokens.push_back(model.whole_words[0]);
    for (const Pattern pattern : {Pattern::kNone, Pattern::kGpt2}) {
      check_encoder(model, pattern, {"<x>"}, {word, word + "a", word + "<x>" + word, word.substr(1)}, 1, 1000,
                    Simd::kScalar);
    }
  }
}

void test_several_threads_may_use_one_encoder() {
  const Model model = make_model("abc ", 60, true, 0, draw);
  const Encoder encoder = Encoder(model.vocabulary(), Pattern::kGpt2).with_added_tokens({{"<x>", 2000}});
  std::vector<std::string> texts;
  std::vector<Text> borrowed;
  for (int i = 0; i < 40; ++i) texts.push_back(draw_text(200) + std::string(400, 'a'));
  for (const std::string& text : texts) borrowed.push_back(text_of(text));
  EncodingOptions options;
  options.threads = 2;
  const auto poll = [](std::size_t) {};
  const Encoder::Encoded expected = encoder.encode(borrowed, options, poll);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 20; ++j) {
        const Encoder::Encoded found = encoder.encode(borrowed, options, poll);
        CHECK(std::equal(found.ids.begin(), found.ids.end(), expected.ids.begin(), expected.ids.end()));
        CHECK(found.offsets == expected.offsets);
      }
    });
  }
}

void test_first_missing_byte_is_reported() {
  const Model model{{{1, "a"}, {2, " "}}, {}};
  const Encoder encoder(model.vocabulary(), Pattern::kGpt2, widest_simd(), 8);
  std::string text;
  for (int i = 0; i < 50; ++i) text += "aa a ";
  text += "x" + text + "y";
  for (const unsigned threads : {1u, 2u, 3u}) {
    EncodingOptions options;
    options.threads = threads;
    Byte missing = 0;
    try {
      encoder.encode({text_of(text)}, options, [](std::size_t) {});
    } catch (const MissingByte& error) {
      missing = error.byte;
    }
    CHECK(missing == 'x');
  }
}

void test_wrong_models_are_refused() {
  const auto is_refused = [](const Model& model) {
    try {
      model.vocabulary();
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  CHECK(!is_refused({{{0, "a"}, {1, "aa"}}, {{"a", "a"}}}));
  CHECK(is_refused({{{0, "a"}}, {{"a", "a"}}}));
  CHECK(is_refused({{{0, "a"}, {1, "ab"}}, {{"a", "b"}}}));
  CHECK(is_refused({{{0, "a"}, {1, "aa"}}, {{"a", "a"}, {"a", "a"}}}));
  CHECK(is_refused({{{1u << 31, "a"}}, {}}));
  CHECK(!is_refused({{{0, "a"}, {1, "aa"}}, {}, {{0, "a"}, {1, "aa"}}}));
  CHECK(is_refused({{{0, "a"}}, {}, {{0, "a"}, {1, "a"}}}));
  CHECK(is_refused({{{0, "a"}}, {}, {{0, ""}}}));
  CHECK(is_refused({{{0, "a"}}, {}, {{1u << 31, "a"}}}));
}

void test_decoder() {
  for (int i = 0; i < examples(500); ++i) {
    const Model model = draw_model();
    std::vector<std::uint32_t> ids;
    std::string skipped(draw(30), 0);
    for (char& each : skipped) each = static_cast<char>(draw(2));
    for (std::size_t j = draw(60); j > 0; --j) {
      ids.push_back(draw(50) ? draw_from(model.tokens).first : static_cast<std::uint32_t>(generator()));
    }
    check_decoder(model, ids, skipped);
  }
}

}  // namespace

int main() {
  test_encoder();
  test_a_word_that_is_a_token_is_not_merged_whatever_its_length();
  test_several_threads_may_use_one_encoder();
  test_first_missing_byte_is_reported();
  test_wrong_models_are_refused();
  test_decoder();
}
