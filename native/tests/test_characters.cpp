// Tests of models of characters, which are compared with naive_characters.hpp.
#include "examples.hpp"
#include "naive_characters.hpp"
#include "random.hpp"

using namespace naive;

namespace {

const std::vector<std::string> kSpecials = {"<x>", "x>", " ", "a ", "日", "<x> "};

std::vector<std::string> draw_specials() {
  std::vector<std::string> specials;
  for (const std::string& each : kSpecials) {
    if (draw(4) == 0) specials.push_back(each);
  }
  return specials;
}

void test_encoder() {
  for (int i = 0; i < threaded_examples(1500); ++i) {
    const CharacterModel model = make_character_model(draw);
    std::vector<std::string> texts;
    for (std::size_t j = 1 + draw(4); j > 0; --j) texts.push_back(make_text_of_characters(model, draw(40), draw));
    check_character_encoder(model, draw_specials(), texts, 1 + static_cast<unsigned>(draw(3)), 1 + draw(60),
                            draw(2) ? widest_simd() : Simd::kScalar);
  }
}

void test_cuts() {
  for (int i = 0; i < examples(3000); ++i) {
    const CharacterModel model = make_character_model(draw);
    check_character_cuts(model, make_text_of_characters(model, draw(60), draw), 1 + draw(4));
  }
}

// Longer than what is merged by looking at all pairs or cached; the cuts of this text are few.
void test_long_words() {
  for (int i = 0; i < threaded_examples(40); ++i) {
    const CharacterModel model = make_character_model(draw);
    const std::string unit = make_text_of_characters(model, 1 + draw(3), draw);
    std::string text;
    while (text.size() < 100 + draw(1000)) text += unit;
    check_character_encoder(model, draw_specials(), {text, unit}, 2, 1 + draw(300), widest_simd());
  }
}

void test_vocabulary_lists_made_and_characters() {
  CharacterModel model;
  model.tokens = {{0, "a"}, {1, "é"}, {2, "aé"}, {3, "never"}, {4, "b"}, {5, "ab"}};
  model.merges = {{"a", "é"}, {"a", "b"}};
  model.excluded = {4};
  const CharacterVocabulary vocabulary = model.vocabulary();
  CHECK(vocabulary.made() == std::vector<std::string_view>({"aé"}));
  CHECK(vocabulary.characters() == std::vector<std::string_view>({"a", "é"}));
}

void test_wrong_models_are_refused() {
  const auto is_refused = [](std::size_t bytes, const Vocabulary::Merge& merge) {
    try {
      CharacterVocabulary({{0, "a"}, {1, "aa"}}, {merge}, std::vector<std::uint32_t>(bytes), {});
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  CHECK(!is_refused(0, {0, 0, 1}));
  CHECK(is_refused(255, {0, 0, 1}));
  CHECK(is_refused(0, {0, 2, 1}));
  CHECK(is_refused(0, {0, 0, 2}));
}

void test_character_without_id_is_reported() {
  CharacterModel model;
  model.tokens = {{0, "a"}};
  const std::string text = "aé";
  int missing = -1;
  try {
    model.encoder(widest_simd(), 1).encode_short(text_of(text), {}, [](const IdBuffer&) {}, kNoPoll);
  } catch (const MissingByte& error) {
    missing = error.byte;
  }
  CHECK(missing == 0xC3);
  // A word fills its room.
  CHECK(model.encoder(widest_simd(), 1).merge_words({std::string(63, 'a')}, 0, kNoPoll).ids.size() == 63);
}

}  // namespace

int main() {
  test_encoder();
  test_cuts();
  test_long_words();
  test_vocabulary_lists_made_and_characters();
  test_wrong_models_are_refused();
  test_character_without_id_is_reported();
}
