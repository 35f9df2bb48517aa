// Slow reference implementations of encoding and decoding, for the tests and fuzzers of the core.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encode/decoder.hpp"
#include "encode/encoder.hpp"
#include "merge/backtracking.hpp"
#include "merge/dropout.hpp"
#include "merge/few_bytes.hpp"
#include "merge/merging.hpp"
#include "naive.hpp"

namespace naive {

// Tokens by id, and merges by rank; bytes may be missing. And the whole words that are looked up before merging.
struct Model {
  using Tokens = std::vector<std::pair<std::uint32_t, std::string>>;
  Tokens tokens;
  Merges merges;
  Tokens whole_words = {};
  bool drops_missing_bytes = false;

  Vocabulary vocabulary() const {
    const Vocabulary::Tokens views(tokens.begin(), tokens.end()), words(whole_words.begin(), whole_words.end());
    std::vector<std::pair<std::string_view, std::string_view>> pairs(merges.begin(), merges.end());
    return Vocabulary(views, Vocabulary::find_tokens(views, pairs), words, drops_missing_bytes);
  }

  bool has_byte(char byte) const {
    return std::any_of(tokens.begin(), tokens.end(),
                       [&](const auto& token) { return token.second == std::string(1, byte); });
  }
};

constexpr std::uint32_t kUnknown = 5000;

// At each step all candidates are drawn again, by rank and from left to right, until one is not skipped.
inline std::vector<std::string> merge_word_with_dropout(const Merges& merges, const std::string& word, Skips skips) {
  std::vector<std::string> parts;
  for (const char byte : word) parts.emplace_back(1, byte);
  const auto merge_one = [&] {
    for (const auto& [first, second] : merges) {
      for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        if (parts[i] != first || parts[i + 1] != second || skips()) continue;
        parts[i] += second;
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        return true;
      }
    }
    return false;
  };
  while (merge_one()) {
  }
  return parts;
}

// With dropout, whole words are not looked up.
inline void encode_word(const Model& model, const std::string& word, std::vector<std::uint32_t>& ids,
                        const WordDraws* draws = nullptr) {
  for (const auto& [id, token] : model.whole_words) {
    if (token == word && draws == nullptr) return ids.push_back(id);
  }
  std::string known = word;
  if (model.drops_missing_bytes) std::erase_if(known, [&](char byte) { return !model.has_byte(byte); });
  for (const std::string& part : draws == nullptr ? merge_word(model.merges, known)
                                                  : merge_word_with_dropout(model.merges, known, Skips(*draws))) {
    std::uint32_t id = kUnknown;
    for (const auto& [token_id, token] : model.tokens) {
      if (token == part) id = token_id;
    }
    ids.push_back(id);
  }
}

// The leftmost special token, the longest of several, is one id; text between them is split and encoded.
inline std::vector<std::uint32_t> encode(const Model& model, Pattern pattern, const std::vector<std::string>& specials,
                                         const std::string& text, const TextDraws* text_draws = nullptr) {
  std::vector<std::uint32_t> ids;
  std::string stretch;
  const Byte* next = begin_of(text);  // the word to be encoded
  const auto flush = [&] {
    for (const std::string& word : split(pattern, stretch)) {
      std::optional<WordDraws> draws;
      if (text_draws != nullptr) draws.emplace(*text_draws, next);
      encode_word(model, word, ids, draws ? &*draws : nullptr);
      next += word.size();
    }
    stretch.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t found = specials.size();
    for (std::size_t i = 0; i < specials.size(); ++i) {
      if (specials[i].empty() || text.compare(at, specials[i].size(), specials[i]) != 0) continue;
      if (found == specials.size() || specials[i].size() > specials[found].size()) found = i;
    }
    if (found == specials.size()) {
      stretch += text[at++];
    } else {
      flush();
      ids.push_back(static_cast<std::uint32_t>(2000 + found));
      next += specials[found].size();
      at += specials[found].size();
    }
  }
  flush();
  return ids;
}

inline Text text_of(const std::string& text) { return {begin_of(text), end_of(text)}; }

inline Decoder decoder_of(const Model& model) {
  const Decoder::Tokens tokens(model.tokens.begin(), model.tokens.end());
  Decoder decoder;
  decoder.add(tokens);
  decoder.add(tokens);  // changes nothing
  return decoder;
}

inline void check_dropout(const Encoder& encoder, const Model& model, Pattern pattern,
                          const std::vector<std::string>& specials, const std::vector<std::string>& texts,
                          EncodingOptions options) {
  Dropout& dropout = options.dropout.emplace();
  dropout.seed = dropout.first_text = texts[0].size();
  double kept = 1;
  for (std::uint64_t& limit : dropout.limits) limit = static_cast<std::uint64_t>((kept *= 0.8) * 0x1p64);
  std::vector<std::uint32_t> expected;
  std::vector<Text> borrowed;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const TextDraws draws = dropout.of_text(i).at(begin_of(texts[i]), 0);
    const std::vector<std::uint32_t> ids = encode(model, pattern, specials, texts[i], &draws);
    expected.insert(expected.end(), ids.begin(), ids.end());
    borrowed.push_back(text_of(texts[i]));
  }
  const Encoder::Encoded encoded = encoder.encode(borrowed, options, [](std::size_t) {});
  CHECK(std::equal(encoded.ids.begin(), encoded.ids.end(), expected.begin(), expected.end()));
}

inline void check_encoder(const Model& model, Pattern pattern, const std::vector<std::string>& specials,
                          const std::vector<std::string>& texts, unsigned threads, std::size_t chunk_bytes, Simd simd) {
  std::vector<AddedToken> added;
  for (std::size_t i = 0; i < specials.size(); ++i)
    added.push_back({specials[i], static_cast<std::uint32_t>(2000 + i)});
  const Encoder encoder = Encoder(model.vocabulary(), pattern, simd, chunk_bytes).with_added_tokens(added);
  EncodingOptions options;
  options.unknown_id = kUnknown;
  options.threads = threads;

  std::vector<std::uint32_t> expected;
  std::vector<std::int64_t> offsets = {0}, counts;
  std::vector<Text> borrowed;
  for (const std::string& text : texts) {
    const std::vector<std::uint32_t> ids = encode(model, pattern, specials, text);
    const auto check = [&](const IdBuffer& found) {
      CHECK(std::equal(found.begin(), found.end(), ids.begin(), ids.end()));
    };
    encoder.encode_short(text_of(text), options, check, kNoPoll);
    expected.insert(expected.end(), ids.begin(), ids.end());
    offsets.push_back(static_cast<std::int64_t>(expected.size()));
    counts.push_back(static_cast<std::int64_t>(ids.size()));
    borrowed.push_back(text_of(text));
  }
  const auto poll = [](std::size_t) {};
  const Encoder::Encoded encoded = encoder.encode(borrowed, options, poll);
  CHECK(std::equal(encoded.ids.begin(), encoded.ids.end(), expected.begin(), expected.end()));
  CHECK(encoded.offsets == offsets);
  CHECK(encoder.count(borrowed, options, poll) == counts);

  // The offsets of consecutive ids match the bytes of their tokens, unless some bytes have no id.
  std::map<std::uint32_t, std::string> known(model.tokens.begin(), model.tokens.end());
  for (const AddedToken& token : added) known[token.id] = token.content;
  const Encoder::EncodedWithOffsets detailed = encoder.encode_with_offsets(borrowed, options, decoder_of(model), poll);
  CHECK(std::equal(detailed.ids.begin(), detailed.ids.end(), expected.begin(), expected.end()));
  CHECK(detailed.offsets == offsets && detailed.token_offsets.size() == expected.size());
  for (std::size_t text = 0; text < texts.size() && !model.drops_missing_bytes; ++text) {
    std::int64_t end = 0, part = 0;
    for (std::int64_t i = offsets[text]; i < offsets[text + 1]; ++i) {
      const TokenOffsets& found = detailed.token_offsets[i];
      CHECK(found.begin == end && found.begin < found.end && (found.part == part || found.part == part + 1));
      const std::string bytes = texts[text].substr(found.begin, found.end - found.begin);
      CHECK(expected[i] == kUnknown ? bytes.size() == 1 : bytes == known.at(expected[i]));
      end = found.end;
      part = found.part;
    }
    CHECK(end == static_cast<std::int64_t>(texts[text].size()));
  }

  check_dropout(encoder, model, pattern, specials, texts, options);

  // Whatever follows the end, a cut changes nothing.
  for (const std::string& text : texts) {
    for (const std::string& more : {std::string(), texts[0]}) {
      const std::size_t cut = encoder.find_last_cut(text_of(text), options, kNoPoll);
      if (cut == 0) continue;
      std::vector<std::uint32_t> parts = encode(model, pattern, specials, text.substr(0, cut));
      const std::vector<std::uint32_t> rest = encode(model, pattern, specials, text.substr(cut) + more);
      parts.insert(parts.end(), rest.begin(), rest.end());
      CHECK(parts == encode(model, pattern, specials, text + more));
    }
  }
}

// Any ids; an id without a token ends decoding.
inline void check_decoder(const Model& model, const std::vector<std::uint32_t>& ids, const std::string& skipped) {
  const Decoder decoder = decoder_of(model);
  const std::map<std::uint32_t, std::string> known(model.tokens.begin(), model.tokens.end());
  std::string expected = "before", found = expected;
  std::size_t done = 0;
  for (; done < ids.size(); ++done) {
    if (ids[done] < skipped.size() && skipped[ids[done]] != 0) continue;
    if (!known.contains(ids[done])) break;
    expected += known.at(ids[done]);
  }
  CHECK(decoder.decode(ids.data(), ids.size(), skipped, found, kNoPoll) == done);
  CHECK(found == expected);
}

// Gives ids to the tokens of a model.
inline void set_tokens(Model& model, std::vector<std::string> tokens) {
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  for (std::size_t i = 0; i < tokens.size(); ++i)
    model.tokens.emplace_back(static_cast<std::uint32_t>(3 * i), tokens[i]);
}

// Random merges of existing tokens; `is_consistent` keeps them in an order in which they can arise.
template <class Draw>
Model make_model(const std::string& alphabet, std::size_t merges, bool is_consistent, std::size_t missing, Draw draw) {
  Model model;
  std::vector<std::string> tokens;
  for (const char byte : alphabet) tokens.emplace_back(1, byte);
  for (std::size_t i = 0; i < merges; ++i) {
    const std::pair pair(tokens[draw(tokens.size())], tokens[draw(tokens.size())]);
    if (pair.first.size() + pair.second.size() > 40) continue;
    if (std::find(model.merges.begin(), model.merges.end(), pair) != model.merges.end()) continue;
    model.merges.push_back(pair);
    tokens.push_back(pair.first + pair.second);
  }
  if (!is_consistent) {
    for (std::size_t i = model.merges.size(); i > 1; --i) std::swap(model.merges[i - 1], model.merges[draw(i)]);
  }
  for (std::size_t byte = missing; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  set_tokens(model, tokens);
  return model;
}

// Few but very long tokens of "a" and "b", so that encoding has to look far ahead, or to split long tokens.
template <class Draw>
Model make_hostile_model(std::size_t length, Draw draw) {
  Model model;
  std::vector<std::string> tokens = {"a", "b"};
  const auto add = [&](const std::string& first, const std::string& second) {
    const std::pair pair(first, second);
    if (first.size() + second.size() > length) return false;
    if (std::find(model.merges.begin(), model.merges.end(), pair) != model.merges.end()) return false;
    model.merges.push_back(pair);
    tokens.push_back(first + second);
    return true;
  };
  const std::size_t kind = draw(5);
  std::string last = kind == 1 || kind == 3 ? "b" : "a", before = "b";
  for (bool is_added = true; is_added;) {
    std::string first, second;
    if (kind == 0) first = last, second = last;    // aa, aaaa, aaaaaaaa
    if (kind == 1) first = "a", second = last;     // ab, aab, aaab
    if (kind == 2) first = last, second = "a";     // aa, aaa, aaaa
    if (kind == 3) first = last, second = "a";     // ba, baa, baaa
    if (kind == 4) first = last, second = before;  // ab, aba, abaab
    is_added = add(first, second);
    before = std::exchange(last, first + second);
  }
  for (std::size_t more = draw(8); more > 0; --more) add(tokens[draw(tokens.size())], tokens[draw(tokens.size())]);
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  set_tokens(model, tokens);
  return model;
}

// Checks that all ways to encode a word agree. Returns whether backtracking finished within its steps.
inline bool check_merging(const Model& model, const std::string& word) {
  const Vocabulary vocabulary = model.vocabulary();
  const auto ids_of = [&](const std::vector<Symbol>& symbols) {
    std::vector<std::uint32_t> ids;
    for (const Symbol symbol : symbols) ids.push_back(std::min(vocabulary.id(symbol), kUnknown));
    return ids;
  };
  std::vector<std::uint32_t> expected;
  encode_word({model.tokens, model.merges}, word, expected);
  for (const std::size_t shortest : {std::size_t{0}, word.size() + 1}) {  // of each kind of queue
    Merger merger(vocabulary, shortest);
    CHECK(ids_of(merger.merge(begin_of(word), word.size(), kNoPoll)) == expected);
    CHECK(ids_of(merger.merge(begin_of(word), word.size(), kNoPoll)) == expected);  // it is left as it was
  }
  if (!Backtracking::is_affordable(vocabulary)) return false;
  FewBytesBacktracking few_bytes(vocabulary, true, 0, 1);
  for (const std::string& each : {word, std::string(word.size(), word[0]), word}) {
    const Backtracking* const few = few_bytes.get(begin_of(each), each.size(), kNoPoll);
    CHECK((few != nullptr) == FewBytesBacktracking::is_in_order(vocabulary));
    std::vector<Symbol> symbols;
    if (few == nullptr || !few->merge(begin_of(each), each.size(), symbols, kNoPoll)) continue;
    std::vector<std::uint32_t> expected_of_each;
    encode_word({model.tokens, model.merges}, each, expected_of_each);
    CHECK(ids_of(symbols) == expected_of_each);
  }
  const Backtracking backtracking(vocabulary, kNoPoll);
  std::vector<Symbol> symbols;
  if (!backtracking.is_exact() || !backtracking.merge(begin_of(word), word.size(), symbols, kNoPoll)) return false;
  CHECK(ids_of(symbols) == expected);
  return true;
}

// Adds tokens that no merge need make, and makes most tokens whole words.
template <class Draw>
void add_whole_words(Model& model, const std::string& alphabet, std::size_t count, std::uint32_t first_id, Draw draw) {
  for (std::size_t i = 0; i < count; ++i) {
    std::string word;
    for (std::size_t letters = 2 + draw(draw(8) == 0 ? 40 : 4); letters > 0; --letters) {
      word += alphabet[draw(alphabet.size())];
    }
    const auto is_it = [&](const auto& token) { return token.second == word; };
    if (std::any_of(model.tokens.begin(), model.tokens.end(), is_it)) continue;
    model.tokens.emplace_back(first_id + static_cast<std::uint32_t>(i), word);
  }
  for (const auto& token : model.tokens) {
    if (draw(5) != 0) model.whole_words.push_back(token);
  }
}

}  // namespace naive
