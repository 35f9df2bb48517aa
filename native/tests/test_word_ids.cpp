// Tests of the ids of many words: merged in turn, and kept for when they come again.
#include "examples.hpp"
#include "merge/interleaved.hpp"
#include "merge/word_ids.hpp"
#include "random_models.hpp"

using namespace naive;

namespace {

// The ids of a word with those of missing bytes as the definition has them.
template <class Ids>
std::vector<std::uint32_t> with_unknown(const Model& model, const Ids* ids, const Ids* end) {
  std::vector<std::uint32_t> known;
  for (; ids != end; ++ids) {
    if (*ids < Vocabulary::kMissing) {
      known.push_back(*ids);
    } else if (!model.drops_missing_bytes) {
      known.push_back(kUnknown);
    }
  }
  return known;
}

void test_words_merged_in_turn_equal_the_definition() {
  for (int i = 0; i < examples(200); ++i) {
    Model model = draw(4) ? draw_model() : make_hostile_model(2 + draw(60), draw);
    model.whole_words.clear();
    model.drops_missing_bytes = false;
    const Vocabulary vocabulary = model.vocabulary();
    // Words end where the memory ends, and ids have exactly the room they may take.
    std::string text;
    std::vector<PendingWord> words(draw(60));
    const std::size_t longest = draw_from<std::size_t>({2, 10, 17, 18, 33, 34, kLongestInterleaved});
    for (PendingWord& word : words) {
      word.length = 1 + draw(longest);
      text += draw_word(model, word.length);
    }
    const std::vector<Byte> bytes(begin_of(text), end_of(text));
    for (const Simd simd : {Simd::kScalar, widest_simd()}) {
      for (const int rank_bits : {0, 1, 31}) {  // none for small ranks, 31 to mistake many pairs for others
        MergeTables tables = vocabulary.merge_tables();
        CHECK(tables.small != nullptr);
        CHECK(tables.compact == nullptr);
        std::vector<Symbol> results;
        for (Rank rank = 0; rank < vocabulary.merges().size(); ++rank) results.push_back(vocabulary.result(rank));
        const CompactRanks compact(vocabulary.merges(), results, rank_bits);
        if (rank_bits != 0) tables.small = nullptr, tables.compact = &compact;
        constexpr std::uint32_t kUntouched = 0xABCD'1234;
        std::vector<std::uint32_t> ids(text.size(), kUntouched);
        for (std::size_t at = 0; PendingWord& word : words) {
          word.word = bytes.data() + at;
          word.out = ids.data() + at;
          word.size = draw(5) ? 0 : 1000;  // merged before
          at += word.length;
          word.readable = bytes.data() + bytes.size();
        }
        std::vector<PendingWord> merged = words;
        interleaved_for(simd)(tables, merged.data(), merged.size());
        for (std::size_t j = 0; j < words.size(); ++j) {
          const auto& [word, out, length, size, readable] = merged[j];
          std::vector<std::uint32_t> expected;
          if (words[j].size == 0) encode_word(model, std::string(word, word + length), expected);
          CHECK(size == (words[j].size == 0 ? expected.size() : 1000));
          CHECK(with_unknown(model, out, out + expected.size()) == expected);
          CHECK(std::all_of(out + expected.size(), out + length, [](std::uint32_t id) { return id == kUntouched; }));
        }
      }
    }
  }
}

// Words that are found and missed, several times in one call and in later ones, merged in turn or not.
template <class Id>
void check_word_ids(const Model& model, Simd simd) {
  const Vocabulary vocabulary = model.vocabulary();
  const LazyBacktracking backtracking(vocabulary);
  WordIds<Id> words(vocabulary, backtracking, nullptr, simd);
  std::vector<std::string> known;
  for (int call = 0; call < 6; ++call) {
    std::vector<std::string> drawn;
    for (std::size_t i = 1 + draw(300); i > 0; --i) {
      if (known.empty() || draw(3)) known.push_back(draw_word(model, 1 + draw(draw(2) ? 10 : 70)));
      drawn.push_back(draw_from(known));
    }
    std::string text;
    std::vector<std::uint32_t> expected;
    for (const std::string& word : drawn) {
      text += word;
      encode_word(model, word, expected);
    }
    std::vector<const Byte*> ends;
    for (std::size_t at = 0; const std::string& word : drawn) ends.push_back(begin_of(text) + (at += word.size()));
    std::vector<std::uint32_t> ids(text.size() + WordIds<Id>::kSlack);
    const std::uint32_t* end =
        words.encode(begin_of(text), ends.data(), ends.size(), end_of(text), ids.data(), kNoPoll);
    CHECK(with_unknown<std::uint32_t>(model, ids.data(), end) == expected);
  }
}

void test_ids_of_words_equal_the_definition_found_or_missed() {
  for (int i = 0; i < examples(60); ++i) {
    const Model model = draw_model();
    for (const Simd simd : {Simd::kScalar, widest_simd()}) {
      check_word_ids<std::uint32_t>(model, simd);
      if (model.vocabulary().highest_id() < 1 << 16) check_word_ids<std::uint16_t>(model, simd);
    }
  }
}

void test_full_cache_is_flushed() {
  const Model model = make_model("ab", 20, true, 0, draw);
  const Vocabulary vocabulary = model.vocabulary();
  const LazyBacktracking backtracking(vocabulary);
  WordIds<std::uint16_t> words(vocabulary, backtracking, nullptr);
  std::vector<std::uint32_t> out(4096);
  std::size_t most = 0;
  for (int i = 0; i < 250'000; ++i) {  // words that never repeat, some of them long
    std::string word = "ab" + std::to_string(i) + std::string(i % 200, 'a');
    const Byte* end = end_of(word);
    const std::uint32_t* last = words.encode(begin_of(word), &end, 1, end, out.data(), kNoPoll);
    if (i % 1000 == 0) {
      std::vector<std::uint32_t> expected;
      encode_word(model, word, expected);
      CHECK(std::equal(expected.begin(), expected.end(), out.data(), const_cast<std::uint32_t*>(last)));
    }
    most = std::max(most, words.bytes());
  }
  CHECK(most < std::size_t{100} << 20);
  CHECK(most > std::size_t{16} << 20);
}

}  // namespace

int main() {
  test_words_merged_in_turn_equal_the_definition();
  test_ids_of_words_equal_the_definition_found_or_missed();
  test_full_cache_is_flushed();
}
