// Tests of the ways of merging one word, which give the ids of naive_encoding.hpp.
#include "examples.hpp"
#include "merge/backtracking.hpp"
#include "merge/few_bytes.hpp"
#include "random_models.hpp"

using namespace naive;

namespace {

// All bytes, and merges that make a token each.
Model model_of(const Merges& merges) {
  Model model{{}, merges};
  for (int byte = 0; byte < 256; ++byte) model.tokens.emplace_back(byte, std::string(1, static_cast<char>(byte)));
  for (std::uint32_t id = 256; const auto& [first, second] : merges) model.tokens.emplace_back(id++, first + second);
  return model;
}

// Of every length up to some, and long enough for each way of merging.
void test_every_way_of_merging() {
  for (int i = 0; i < examples(150); ++i) {
    Model model = draw_model();
    for (std::size_t length : {std::size_t{1} + draw(20), 14 + draw(20), 60 + draw(10), 100 + draw(60)}) {
      std::string word;
      while (word.size() < length) word += draw_from(model.tokens).second;
      word.resize(length);
      check_merging(model, word);
    }
  }
}

void test_every_way_of_merging_gives_the_same_for_hostile_models() {
  std::size_t found = 0;
  constexpr int kModels = 80;
  for (int i = 0; i < kModels; ++i) {
    const Model model = make_hostile_model(2 + draw(200), draw);
    std::string word;
    while (word.size() < 63 + draw(200)) word += std::string(draw(300), 'a') + std::string(draw(3), 'b');
    found += check_merging(model, word);
  }
  CHECK(found > 0 && found < kModels);  // some give up, some do not
}

// Symbols that are tokens of single bytes are as many as there are bytes; a search for the longest token looks at up to
// 301 bytes for each.
void test_backtracking_gives_up_where_it_takes_too_many_steps() {
  Merges merges;
  for (std::string token = "b"; token.size() < 300; token = "a" + token) merges.emplace_back("a", token);
  const Model model = model_of(merges);
  const Vocabulary vocabulary = model.vocabulary();
  CHECK(Backtracking::is_affordable(vocabulary));
  const Backtracking backtracking(vocabulary, kNoPoll);
  CHECK(backtracking.is_exact());
  std::vector<Symbol> symbols;
  const auto gives_up = [&](const std::string& word) {
    return !backtracking.merge(begin_of(word), word.size(), symbols, kNoPoll);
  };
  CHECK(gives_up(std::string(1'000, 'a')));
  CHECK(gives_up(std::string(1'000'000, 'a')));
  CHECK(!gives_up(std::string(1'000'000, 'c')));
  CHECK(!gives_up(std::string(1'000'000, 'b')));
}

void test_nothing_is_prepared_for_tokens_that_are_far_longer_than_their_number_explains() {
  const auto is_affordable = [](std::size_t merges) {
    Merges doubling;
    for (std::string token = "a"; doubling.size() < merges; token += token) doubling.emplace_back(token, token);
    return Backtracking::is_affordable(model_of(doubling).vocabulary());
  };
  CHECK(is_affordable(12));
  CHECK(!is_affordable(17));
}

void test_backtracking_knows_where_it_is_exact() {
  const auto is_exact = [](const Merges& merges) {
    const Vocabulary vocabulary = model_of(merges).vocabulary();
    return Backtracking(vocabulary, kNoPoll).is_exact();
  };
  CHECK(is_exact({}));
  CHECK(is_exact({{"a", "b"}, {"ab", "c"}, {"ab", "ab"}}));
  CHECK(is_exact({{"a", "b"}, {"b", "c"}, {"a", "bc"}, {"ab", "c"}}));  // the parts of the third never meet
  CHECK(!is_exact({{"ab", "c"}, {"a", "b"}}));
}

void test_words_of_few_bytes_need_only_their_merges() {
  const Merges merges = {{"a", "b"}, {"d", "d"}, {"ab", "c"}, {"dd", "d"}, {"e", "dd"}, {"e", "e"}};
  const Vocabulary vocabulary = model_of(merges).vocabulary();
  FewBytesBacktracking few_bytes(vocabulary, true, 10, 2);
  Merger by_rank(vocabulary);
  std::vector<Symbol> symbols;
  const auto is_merged = [&](const std::string& word) {
    const Backtracking* const few = few_bytes.get(begin_of(word), word.size(), kNoPoll);
    if (few == nullptr) return false;
    CHECK(few->merge(begin_of(word), word.size(), symbols, kNoPoll));
    CHECK(symbols == by_rank.merge(begin_of(word), word.size(), kNoPoll));
    return true;
  };
  const std::string ds(100, 'd'), es(101, 'e');
  CHECK(is_merged(ds));
  CHECK(!is_merged(ds.substr(1, 50)));  // too short
  CHECK(!is_merged(ds + es));           // four merges of six
  CHECK(!is_merged(ds + es + "f"));     // and more
  CHECK(is_merged(ds + "ab"));
  CHECK(is_merged(es + "f"));
  CHECK(is_merged(ds));
  CHECK(FewBytesBacktracking(vocabulary, false, 10, 2).get(begin_of(ds), ds.size(), kNoPoll) == nullptr);
}

void test_words_of_few_bytes_need_merges_in_order() {
  const Vocabulary vocabulary = model_of({{"a", "b"}, {"ab", "c"}, {"b", "c"}, {"a", "bc"}}).vocabulary();
  CHECK(!FewBytesBacktracking::is_in_order(vocabulary));  // two make the same
  const std::string word(200, 'b');
  CHECK(FewBytesBacktracking(vocabulary, true, 0, 1).get(begin_of(word), word.size(), kNoPoll) == nullptr);
}

void test_usable_merges() {
  const Vocabulary vocabulary = model_of({{"a", "b"}, {"c", "d"}, {"ab", "a"}, {"ab", "cd"}}).vocabulary();
  const auto usable = [&](const std::string& letters) {
    Backtracking::Bytes bytes;
    for (const char letter : letters) bytes.set(static_cast<Byte>(letter));
    return Backtracking::usable_merges(vocabulary, bytes, kNoPoll);
  };
  using Ranks = std::vector<Rank>;
  CHECK(usable("a") == Ranks());
  CHECK(usable("abc") == (Ranks{0, 2}));
  CHECK(usable("cdx") == Ranks{1});
  CHECK(usable("abcd") == (Ranks{0, 1, 2, 3}));
}

}  // namespace

int main() {
  test_every_way_of_merging();
  test_every_way_of_merging_gives_the_same_for_hostile_models();
  test_backtracking_gives_up_where_it_takes_too_many_steps();
  test_nothing_is_prepared_for_tokens_that_are_far_longer_than_their_number_explains();
  test_backtracking_knows_where_it_is_exact();
  test_words_of_few_bytes_need_only_their_merges();
  test_words_of_few_bytes_need_merges_in_order();
  test_usable_merges();
}
