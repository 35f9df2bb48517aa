// Tests of where words are cut between characters, and that their pieces have the ids of the whole.
#include "examples.hpp"
#include "merge/joins.hpp"
#include "merge/word_ids.hpp"
#include "random_models.hpp"

using namespace naive;

namespace {

const std::vector<std::string> kCharacters = {"a", "b", " ", "é", "à", "ã", "你", "佢", "｠", "😀", "😁"};

std::string draw_characters(std::size_t most) {
  std::string word;
  for (std::size_t i = 1 + draw(most); i > 0; --i) word += draw_from(kCharacters);
  return word;
}

// Tokens of whole characters, of bytes, and of both; few enough that words are cut.
Model draw_model_of_characters() {
  std::string alphabet;
  for (std::size_t i = 1 + draw(5); i > 0; --i) alphabet += draw_from(kCharacters);
  Model model = make_model(alphabet, draw(60), draw(2), draw(4) == 0 ? 98 : 0, draw);
  for (std::size_t i = draw(20); i > 0; --i) {  // a word of its own is looked up, and its parts may be merged otherwise
    const std::string word = draw_characters(3);
    const auto is_it = [&](const auto& token) { return token.second == word; };
    if (std::any_of(model.whole_words.begin(), model.whole_words.end(), is_it)) continue;
    const auto token = std::find_if(model.tokens.begin(), model.tokens.end(), is_it);
    const std::uint32_t id = token == model.tokens.end() ? 3000 + static_cast<std::uint32_t>(i) : token->first;
    if (token == model.tokens.end()) model.tokens.emplace_back(id, word);
    model.whole_words.emplace_back(id, word);
  }
  model.drops_missing_bytes = draw(4) == 0;
  return model;
}

std::vector<std::size_t> cuts_of(const Joins& joins, const std::string& word, std::size_t capacity) {
  std::vector<std::size_t> cuts;
  std::vector<const Byte*> ends(capacity);
  for (const Byte* at = begin_of(word); at != end_of(word);) {
    const std::size_t count = joins.cut(at, end_of(word), ends.data(), capacity);
    CHECK(count > 0 && count <= capacity);
    for (std::size_t i = 0; i < count; ++i) cuts.push_back(static_cast<std::size_t>(ends[i] - begin_of(word)));
    at = ends[count - 1];
  }
  return cuts;
}

bool is_held_by(const std::string& token, const std::string& word, std::size_t place) {
  for (std::size_t left = 1; left < token.size() && left <= place; ++left) {
    if (word.compare(place - left, token.size(), token) == 0) return true;
  }
  return false;
}

void test_no_token_holds_both_sides_of_a_cut() {
  std::size_t found = 0;
  for (int i = 0; i < examples(400); ++i) {
    const Model model = draw_model_of_characters();
    const Vocabulary vocabulary = model.vocabulary();
    std::string word = draw_characters(30);
    if (draw(3) == 0) word.insert(draw(word.size()), draw_from<std::string>({"\xFF", "\xC3", "\xA9", "\xE4\xBD"}));
    if (draw(3) == 0) word.resize(1 + draw(word.size()));
    const std::vector<std::size_t> cuts = cuts_of(vocabulary.joins(), word, 1 + draw(40));
    CHECK(cuts.back() == word.size());
    for (const std::size_t cut : cuts) {
      if (cut == word.size()) continue;
      ++found;
      CHECK(!is_continuation(begin_of(word)[cut]));
      for (const auto& [first, second] : model.merges) CHECK(!is_held_by(first + second, word, cut));
      for (const auto& [id, token] : model.whole_words) CHECK(!is_held_by(token, word, cut));
    }
  }
  CHECK(found > 100);
}

void test_words_are_cut_where_no_token_holds_two_characters() {
  const std::vector<std::string_view> tokens = {"你a", "éé", "\xA9\xE4", "é😀", "a\xC3", "ab"};
  const Joins joins(tokens);
  const auto cuts = [&](const std::string& word) { return cuts_of(joins, word, 100); };
  using Cuts = std::vector<std::size_t>;
  CHECK(cuts("你a你") == (Cuts{4, 7}));
  CHECK(cuts("éééa") == (Cuts{6, 7}));
  CHECK(cuts("é你") == (Cuts{5}));  // a token begins in the first
  CHECK(cuts("à你") == (Cuts{2, 5}));
  CHECK(cuts("aéb") == (Cuts{3, 4}));  // a token ends in the second
  CHECK(cuts("béb") == (Cuts{1, 3, 4}));
  CHECK(cuts("ba") == (Cuts{2}));  // two characters of ASCII
  CHECK(cuts("你\xE4\xBD") == (Cuts{5}));
  CHECK(cuts("你你\xE4\xBD") == (Cuts{3, 8}));
  CHECK(cuts("\xA9"
             "你你") == (Cuts{7}));
}

// Words that are cut or not, found or missed, several times in one call and in later ones.
template <class Id>
void check_pieces(const Model& model, Simd simd) {
  const Vocabulary vocabulary = model.vocabulary();
  const LazyBacktracking backtracking(vocabulary);
  WordIds<Id> words(vocabulary, backtracking, nullptr, simd);
  std::vector<std::string> known;
  for (int call = 0; call < 4; ++call) {
    std::string text;
    std::vector<std::uint32_t> expected;
    std::vector<std::size_t> places;
    for (std::size_t i = 1 + draw(100); i > 0; --i) {
      if (known.empty() || draw(3)) known.push_back(draw_characters(draw(8) == 0 ? 60 : 8));
      const std::string& word = draw_from(known);
      text += word;
      places.push_back(text.size());
      encode_word(model, word, expected);
    }
    std::vector<const Byte*> ends;
    for (const std::size_t place : places) ends.push_back(begin_of(text) + place);
    std::vector<std::uint32_t> ids(text.size() + WordIds<Id>::kSlack);
    const std::uint32_t* end =
        words.encode(begin_of(text), ends.data(), ends.size(), end_of(text), ids.data(), kNoPoll);
    std::vector<std::uint32_t> found;
    for (const std::uint32_t* id = ids.data(); id != end; ++id) {
      if (*id < Vocabulary::kMissing || !model.drops_missing_bytes) found.push_back(std::min(*id, kUnknown));
    }
    for (std::uint32_t& id : expected) id = std::min(id, kUnknown);
    CHECK(found == expected);
  }
}

void test_ids_of_words_that_are_cut_equal_the_definition() {
  for (int i = 0; i < examples(150); ++i) {
    const Model model = draw_model_of_characters();
    for (const Simd simd : {Simd::kScalar, widest_simd()}) {
      check_pieces<std::uint32_t>(model, simd);
      if (model.vocabulary().highest_id() < 1 << 16) check_pieces<std::uint16_t>(model, simd);
    }
  }
}

}  // namespace

int main() {
  test_no_token_holds_both_sides_of_a_cut();
  test_words_are_cut_where_no_token_holds_two_characters();
  test_ids_of_words_that_are_cut_equal_the_definition();
}
