// Tests of encoding and decoding without Python, for sanitizers; what they compare with is naive_encoding.hpp.
#include <map>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "examples.hpp"
#include "files/merges_file.hpp"
#include "merge/backtracking.hpp"
#include "merge/interleaved.hpp"
#include "merge/merging.hpp"
#include "merge/word_ids.hpp"
#include "naive_encoding.hpp"

namespace {

using namespace naive;

std::mt19937 source(7);

std::size_t draw(std::size_t below) { return source() % below; }

template <class T>
const T& draw_from(const std::vector<T>& values) {
  return values[draw(values.size())];
}

const std::vector<std::string> kPieces = {"a",  "b", "ab", "abc", " ",    " a",   "\n",     "<",      "<x>",
                                          "x>", "1", "é",  "你",  "\xFF", "\xC3", "\u3000", "don't ", "low lower "};

std::string draw_text(std::size_t pieces) {
  std::string text;
  for (std::size_t i = draw(pieces); i > 0; --i) text += draw_from(kPieces);
  return text;
}

Model draw_model() {
  const std::string alphabet = draw_from<std::string>({"a", "ab", "abc", " ab\xC3", "low er"});
  Model model = make_model(alphabet, draw(40), draw(2), draw(4) == 0 ? 98 : 0, draw);
  if (draw(2)) add_whole_words(model, alphabet, draw(30), draw(2) ? 3000 : 70'000, draw);  // in 16 bits or more
  model.drops_missing_bytes = draw(2);
  return model;
}

// All bytes, and merges that make a token each.
Model model_of(const Merges& merges) {
  Model model{{}, merges};
  for (int byte = 0; byte < 256; ++byte) model.tokens.emplace_back(byte, std::string(1, static_cast<char>(byte)));
  for (std::uint32_t id = 256; const auto& [first, second] : merges) model.tokens.emplace_back(id++, first + second);
  return model;
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

void test_backtracking_knows_where_it_is_exact() {
  const auto is_exact = [](const Merges& merges) {
    const Vocabulary vocabulary = model_of(merges).vocabulary();
    return Backtracking(vocabulary, kNoPoll).is_exact();
  };
  CHECK(is_exact({}));
  CHECK(is_exact({{"a", "b"}, {"ab", "c"}, {"ab", "ab"}}));
  CHECK(!is_exact({{"ab", "c"}, {"a", "b"}}));
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

std::string draw_word(const Model& model, std::size_t length) {
  std::string word;
  while (word.size() < length) word += draw(6) ? draw_from(model.tokens).second : std::string(1, "ab"[draw(2)]);
  return word.substr(0, length);
}

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

void check_small_ranks(const SmallRanks::Merges& merges) {
  const std::optional<SmallRanks> ranks = SmallRanks::make(merges, SmallRanks::kNone);
  CHECK(ranks);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> expected;
  for (std::uint32_t rank = 0; rank < merges.size(); ++rank) expected[merges[rank]] = rank;
  const auto check = [&](std::uint32_t first, std::uint32_t second) {
    const auto found = expected.find({first, second});
    const std::uint32_t rank = found == expected.end() ? SmallRanks::kNone : found->second;
    CHECK(ranks->find(ranks->key_of(first, second)) == rank);
    if (first > 0xFF || second > 0xFF) return;
    const Byte bytes[] = {static_cast<Byte>(first), static_cast<Byte>(second)};
    CHECK(ranks->rank_of_bytes(bytes) == rank);
  };
  for (const auto& [first, second] : merges) {
    check(first, second);
    check(second, first);
    check(first, 0xFFFF);
  }
  for (int i = 0; i < examples(20'000); ++i)
    check(static_cast<std::uint32_t>(draw(1 << 16)), static_cast<std::uint32_t>(draw(1 << 16)));
  for (std::uint32_t pair = 0; pair < 1 << 16; ++pair) check(pair >> 8, pair & 0xFF);
}

void test_small_ranks_are_exact_for_every_number_and_kind_of_merges() {
  for (const std::size_t size : {0, 1, 1'000, 50'000, 57'000, 57'001, 65'535}) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> distinct;
    while (distinct.size() < size) distinct.emplace(draw(0xFFFF), draw(draw(2) ? 256 : 0xFFFF));
    SmallRanks::Merges merges(distinct.begin(), distinct.end());
    std::shuffle(merges.begin(), merges.end(), source);
    check_small_ranks(merges);
  }
  SmallRanks::Merges rows, columns, diagonal, square;
  for (std::uint32_t i = 0; i < 0xFFFF; ++i) {
    rows.emplace_back(7, i);
    columns.emplace_back(i, 7);
    diagonal.emplace_back(i, i);
    square.emplace_back(i >> 8, i & 0xFF);
  }
  for (const SmallRanks::Merges& merges : {rows, columns, diagonal, square}) check_small_ranks(merges);
}

void test_models_of_65536_symbols_or_merges_have_no_small_ranks() {
  SmallRanks::Merges merges(0xFFFF);
  for (std::uint32_t i = 0; i < merges.size(); ++i) merges[i] = {i, 0};
  CHECK(SmallRanks::make(merges, 0xFFFF));
  CHECK(!SmallRanks::make(merges, 0x1'0000));
  merges.emplace_back(1, 1);
  CHECK(!SmallRanks::make(merges, 0xFFFF));
}

std::uint32_t min_slot(const std::uint32_t* slots, std::uint32_t inverted) {
  std::uint32_t least = ~std::uint32_t{0};
  for (std::size_t i = 0; i < CompactRanks::kSlots; ++i) least = std::min(least, slots[i] ^ inverted);
  return least;
}

void test_compact_ranks_are_never_too_high() {
  constexpr std::uint32_t kNone = CompactRanks::kNone;
  for (const std::size_t size : {0, 1, 15, 16, 17, 255, 256, 1'000, 70'000, 131'072}) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> expected;
    const std::uint32_t symbols = draw(2) ? 1 << 9 : 1 << 21;
    while (expected.size() < size) expected.emplace(std::pair{draw(symbols), draw(symbols)}, 0);
    CompactRanks::Merges merges;
    for (const auto& [pair, rank] : expected) merges.push_back(pair);
    std::shuffle(merges.begin(), merges.end(), source);
    for (std::uint32_t rank = 0; rank < size; ++rank) expected[merges[rank]] = rank;
    std::vector<std::uint32_t> results;
    while (results.size() < size) results.push_back(static_cast<std::uint32_t>(draw(symbols - 1)));
    const CompactRanks ranks(merges, results, draw_from<int>({1, 12, 31}));
    const auto check = [&](std::uint32_t first, std::uint32_t second) {
      const auto found = expected.find({first, second});
      const std::uint32_t rank = found == expected.end() ? kNone : found->second;
      const std::uint32_t likely = ranks.find(ranks.key_of(first, second), min_slot);
      CHECK(likely <= rank);
      CHECK(ranks.find_exact(first, second) == rank);
      CHECK(likely == kNone || likely < size);
      const std::uint32_t result = likely == rank && rank != kNone ? results[rank] : CompactRanks::kNoSymbol;
      CHECK(likely == kNone || ranks.result(likely, first, second) == result);
    };
    for (const auto& [first, second] : merges) {
      check(first, second);
      check(second, first);
    }
    for (int i = 0; i < examples(5'000); ++i)
      check(static_cast<std::uint32_t>(draw(symbols)), static_cast<std::uint32_t>(draw(symbols)));
  }
}

void test_decoder() {
  for (int i = 0; i < examples(500); ++i) {
    const Model model = draw_model();
    std::vector<std::uint32_t> ids;
    std::string skipped(draw(30), 0);
    for (char& each : skipped) each = static_cast<char>(draw(2));
    for (std::size_t j = draw(60); j > 0; --j) {
      ids.push_back(draw(50) ? draw_from(model.tokens).first : static_cast<std::uint32_t>(source()));
    }
    check_decoder(model, ids, skipped);
  }
}

void test_merges_are_read_or_not_whatever_the_text() {
  const std::vector<std::string> tokens = {"a", "b", "ab", "\xFF", " ", " a", "a\xFF"};
  const std::vector<std::string_view> views(tokens.begin(), tokens.end());
  const std::vector<std::string> pieces = {"a",        "b",    "ab",   "\xC3\xBF",     "\xC4\xA0", " ",  "\n",   "\n",
                                           "#version", "\xC3", "\xBF", "\xE4\xBD\xA0", "\xC5\x83", "\r", "a b\n"};
  std::size_t read = 0;
  for (int i = 0; i < examples(20'000); ++i) {
    std::string text;
    for (std::size_t j = draw(8); j > 0; --j) text += draw_from(pieces);
    const std::optional<MergesFile> file = read_merges(text, views);
    if (!file) continue;
    read += !file->merges.empty();
    std::vector<char> is_used(tokens.size());
    for (const auto& [first, second, result] : file->merges) {
      CHECK(tokens[result] == tokens[first] + tokens[second]);
      is_used[first] = is_used[second] = is_used[result] = 1;
    }
    CHECK(file->is_used == is_used);
  }
  CHECK(read > examples(100));
}

}  // namespace

int main() {
  test_encoder();
  test_every_way_of_merging();
  test_every_way_of_merging_gives_the_same_for_hostile_models();
  test_backtracking_gives_up_where_it_takes_too_many_steps();
  test_nothing_is_prepared_for_tokens_that_are_far_longer_than_their_number_explains();
  test_a_word_that_is_a_token_is_not_merged_whatever_its_length();
  test_backtracking_knows_where_it_is_exact();
  test_several_threads_may_use_one_encoder();
  test_first_missing_byte_is_reported();
  test_wrong_models_are_refused();
  test_full_cache_is_flushed();
  test_words_merged_in_turn_equal_the_definition();
  test_ids_of_words_equal_the_definition_found_or_missed();
  test_small_ranks_are_exact_for_every_number_and_kind_of_merges();
  test_models_of_65536_symbols_or_merges_have_no_small_ranks();
  test_compact_ranks_are_never_too_high();
  test_decoder();
  test_merges_are_read_or_not_whatever_the_text();
}
