// Models of tens of thousands of merges, with ranks of both kinds: words have the ids of the definition, in vectors and
// in portable code.
#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "merge/characters.hpp"
#include "merge/merging.hpp"
#include "merge/word_ids.hpp"
#include "naive.hpp"
#include "random.hpp"

using namespace naive;

namespace {

using Ids = std::vector<std::uint32_t>;

// The first tokens are the alphabet: all bytes, or characters.
struct LargeModel {
  std::vector<std::string> tokens;
  bool is_of_characters = false;
  std::vector<Vocabulary::Merge> merges;
  Ids ids;  // by token

  Vocabulary vocabulary() const {
    Vocabulary::Tokens with_ids;
    for (std::size_t i = 0; i < tokens.size(); ++i) with_ids.emplace_back(ids[i], tokens[i]);
    if (is_of_characters) return CharacterVocabulary(with_ids, merges, {}, {}).vocabulary();
    return Vocabulary(with_ids, merges);
  }
};

// Of one to four bytes.
std::vector<std::string> characters() {
  std::vector<std::string> found;
  for (char each = 'a'; each <= 'z'; ++each) found.emplace_back(1, each);
  for (int last = 0x80; last < 0xC0; ++last) {
    for (const char* const before : {"\xC3", "\xD0", "\xE6\x97", "\xF0\x9F\x98"}) {
      found.push_back(before + std::string(1, static_cast<char>(last)));
    }
  }
  return found;
}

// If `is_in_order`, merges have the order in which they arise and ids that of the merges.
LargeModel make_large_model(std::size_t tokens, bool is_in_order, bool is_of_characters = false) {
  constexpr std::size_t kLongest = 24;  // bytes
  LargeModel model;
  model.is_of_characters = is_of_characters;
  if (is_of_characters) {
    model.tokens = characters();
  } else {
    for (int byte = 0; byte < 256; ++byte) model.tokens.emplace_back(1, static_cast<char>(byte));
  }
  const std::size_t alphabet = model.tokens.size();
  std::unordered_set<std::string> distinct(model.tokens.begin(), model.tokens.end());
  while (model.tokens.size() < tokens) {
    const auto any = [&] { return static_cast<std::uint32_t>(draw(draw(2) ? alphabet : model.tokens.size())); };
    const std::uint32_t first = any(), second = any();
    const std::string made = model.tokens[first] + model.tokens[second];
    if (made.size() > kLongest || !distinct.insert(made).second) continue;
    model.merges.push_back({first, second, static_cast<std::uint32_t>(model.tokens.size())});
    model.tokens.push_back(made);
  }
  for (std::uint32_t i = 0; i < tokens; ++i) model.ids.push_back(is_in_order ? i : 5 * i + 70'000);
  if (!is_in_order) {
    std::shuffle(model.ids.begin(), model.ids.end(), generator);
    std::shuffle(model.merges.begin(), model.merges.end(), generator);
  }
  return model;
}

class Definition {
 public:
  explicit Definition(const LargeModel& model) : model_(model) {
    for (std::size_t rank = 0; rank < model.merges.size(); ++rank) {
      ranks_[pair_of(model.merges[rank].first, model.merges[rank].second)] = rank;
    }
  }

  // Merges the pair of lowest rank, the leftmost of several, until there is none.
  Ids ids(const std::string& word) const {
    Ids parts = begin(word);
    for (;;) {
      std::size_t lowest = model_.merges.size(), place = 0;
      for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto found = ranks_.find(pair_of(parts[i], parts[i + 1]));
        if (found != ranks_.end() && found->second < lowest) lowest = found->second, place = i;
      }
      if (lowest == model_.merges.size()) break;
      parts[place] = model_.merges[lowest].result;
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    }
    for (std::uint32_t& part : parts) part = model_.ids[part];
    return parts;
  }

 private:
  static std::uint64_t pair_of(std::uint32_t first, std::uint32_t second) {
    return std::uint64_t{first} << 32 | second;
  }

  Ids begin(const std::string& word) const {
    if (!model_.is_of_characters) return Ids(begin_of(word), end_of(word));
    Ids parts;
    for (const Byte* at = begin_of(word); at != end_of(word);) {
      const Byte* const begin = at++;
      while (at != end_of(word) && is_continuation(*at)) ++at;
      const auto found = std::find(model_.tokens.begin(), model_.tokens.end(), std::string(begin, at));
      parts.push_back(static_cast<std::uint32_t>(found - model_.tokens.begin()));
    }
    return parts;
  }

  const LargeModel& model_;
  std::unordered_map<std::uint64_t, std::size_t> ranks_;
};

std::string draw_word(const LargeModel& model) {
  const std::size_t length = 1 + draw(draw(2) ? 20 : 130);
  std::string word;
  while (word.size() < length) word += draw_from(model.tokens);
  return model.is_of_characters ? word : word.substr(0, length);
}

template <class Id>
void check_words(const Vocabulary& vocabulary, const std::vector<std::string>& words, const Ids& expected) {
  std::string text;
  for (const std::string& word : words) text += word;
  std::vector<const Byte*> ends;
  for (std::size_t at = 0; const std::string& word : words) ends.push_back(begin_of(text) + (at += word.size()));
  const LazyBacktracking backtracking(vocabulary);
  for (const Simd simd : {Simd::kScalar, widest_simd()}) {
    WordIds<Id> word_ids(vocabulary, backtracking, nullptr, simd);
    Ids ids(text.size() + WordIds<Id>::kSlack);
    const std::uint32_t* end =
        word_ids.encode(begin_of(text), ends.data(), ends.size(), end_of(text), ids.data(), kNoPoll);
    CHECK(std::equal(expected.begin(), expected.end(), static_cast<const std::uint32_t*>(ids.data()), end));
  }
}

void test_words_have_the_ids_of_the_definition(std::size_t tokens, bool is_in_order, bool is_of_characters = false) {
  const LargeModel model = make_large_model(tokens, is_in_order, is_of_characters);
  const Vocabulary vocabulary = model.vocabulary();
  CHECK((vocabulary.merge_tables().small != nullptr) == (tokens < 65'536));
  const Definition definition(model);
  Merger merger(vocabulary);
  std::vector<std::string> words;
  Ids all;
  for (int i = 0; i < 600; ++i) {
    const std::string& word = words.emplace_back(draw_word(model));
    Ids ids;
    for (const Symbol symbol : merger.merge(begin_of(word), word.size(), kNoPoll)) ids.push_back(vocabulary.id(symbol));
    CHECK(ids == definition.ids(word));
    all.insert(all.end(), ids.begin(), ids.end());
  }
  check_words<std::uint32_t>(vocabulary, words, all);
  if (vocabulary.highest_id() < 1 << 16) check_words<std::uint16_t>(vocabulary, words, all);
  // Tokens of all sizes of symbols and ids are among them.
  const std::uint32_t highest = *std::max_element(model.ids.begin(), model.ids.end());
  CHECK(*std::max_element(all.begin(), all.end()) > highest / 100 * 99);
}

}  // namespace

int main() {
  // The most symbols that have small ranks, one more, and as many as the largest models have.
  for (const std::size_t tokens : {65'535, 65'536, 200'000}) {
    for (const bool is_in_order : {true, false}) test_words_have_the_ids_of_the_definition(tokens, is_in_order);
  }
  for (const std::size_t tokens : {60'000, 70'000}) {
    for (const bool is_in_order : {true, false}) test_words_have_the_ids_of_the_definition(tokens, is_in_order, true);
  }
  return 0;
}
