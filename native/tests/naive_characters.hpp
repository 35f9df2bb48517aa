// A slow reference implementation of models whose alphabet is characters, for the tests and fuzzers of the core.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "merge/characters.hpp"
#include "naive_encoding.hpp"
#include "scan/characters.hpp"

namespace naive {

// Some have the same first bytes in UTF-8.
inline const std::vector<std::string> kCharacters = {" ", "a", "b", "c", "\n", "é", "è", "日", "旦", "本", "🎉", "🎊"};
// Texts that no character is, the last ones in the form of UTF-8: half of one, a surrogate, and what is too long.
inline const std::vector<std::string> kBrokenCharacters = {
    "\xFF", "\xA5", "\xC3", "\xE6\x97", "\xF0\x9F\x8E", "\xC0\xA0", "\xED\xA0\x80", "\xF7\xBF\xBF\xBF"};

struct CharacterModel {
  Model::Tokens tokens;  // of text
  Merges merges;
  std::vector<std::uint32_t> byte_ids;  // of all bytes, kNoByte where one is not needed; or none
  std::vector<std::uint32_t> excluded;  // the ids of tokens that are of no text
  CharacterRules rules;

  // The core's vocabulary, given tokens of bytes as well, and merges of excluded tokens.
  CharacterVocabulary vocabulary() const {
    Vocabulary::Tokens all(tokens.begin(), tokens.end());
    std::vector<std::string> bytes;
    for (std::size_t byte = 0; byte < byte_ids.size(); ++byte) bytes.emplace_back(1, static_cast<char>(byte));
    for (std::size_t byte = 0; byte < byte_ids.size(); ++byte) {
      if (byte_ids[byte] != CharacterVocabulary::kNoByte) all.emplace_back(byte_ids[byte], bytes[byte]);
    }
    const std::vector<std::pair<std::string_view, std::string_view>> pairs(merges.begin(), merges.end());
    return CharacterVocabulary(all, Vocabulary::find_tokens({tokens.begin(), tokens.end()}, pairs), byte_ids, excluded);
  }

  Encoder encoder(Simd simd, std::size_t chunk_bytes) const {
    const CharacterVocabulary made = vocabulary();
    auto cuts = std::make_shared<const CharacterCuts>(made.made(), made.characters(), rules);
    return Encoder(made.vocabulary(), Pattern(std::move(cuts)), simd, chunk_bytes);
  }

  std::optional<std::uint32_t> find(const std::string& text) const {
    for (const auto& [id, token] : tokens) {
      if (token == text && std::find(excluded.begin(), excluded.end(), id) == excluded.end()) return id;
    }
    return std::nullopt;
  }

  // The merges without those of excluded tokens.
  Merges merges_of_text() const {
    Merges kept = merges;
    std::erase_if(kept, [&](const auto& pair) {
      return !find(pair.first) || !find(pair.second) || !find(pair.first + pair.second);
    });
    return kept;
  }
};

struct IdAt {
  std::uint32_t id;
  std::int64_t begin, end, part;
  bool operator==(const IdAt&) const = default;
};

// The ids of a pre-token, which begins at `begin` in the text, or a byte before `lowest` if a space was put there.
inline void encode_pre_token(const CharacterModel& model, const std::string& pre_token, std::int64_t begin,
                             std::int64_t lowest, std::int64_t part, std::vector<IdAt>& ids) {
  const auto add = [&](std::uint32_t id, std::size_t size) {
    const std::int64_t end = begin + static_cast<std::int64_t>(size);
    ids.push_back({id, std::max(begin, lowest), std::max(end, lowest + 1), part});
    begin = end;
  };
  std::vector<std::string> known;  // characters in the vocabulary, side by side
  const auto merge_known = [&] {
    merge_parts(model.merges_of_text(), known);
    for (const std::string& token : known) add(*model.find(token), token.size());
    known.clear();
  };
  bool was_unknown = false;
  for (const Char& each : decode(pre_token)) {
    const std::string text = pre_token.substr(each.begin, each.end - each.begin);
    const bool is_known = each.code != kInvalid && model.find(text);
    if (is_known) {
      known.push_back(text);
    } else {
      merge_known();
    }
    if (!is_known && !model.byte_ids.empty()) {
      for (const char byte : text) add(model.byte_ids[static_cast<Byte>(byte)], 1);
    } else if (!is_known && was_unknown && model.rules.fuses_unknown) {
      ids.back().end = begin += static_cast<std::int64_t>(text.size());
    } else if (!is_known) {
      add(*model.rules.unknown_id, text.size());
    }
    was_unknown = !is_known && model.byte_ids.empty();
  }
  merge_known();
}

// As `encode` of naive_encoding.hpp. `continued`: the text before it ended in a segment.
inline std::vector<IdAt> encode(const CharacterModel& model, const std::vector<std::string>& specials,
                                const std::string& text, bool continued = false) {
  std::vector<IdAt> ids;
  std::string segment;
  std::size_t begin = 0;  // of the segment
  std::int64_t part = -1;
  const auto flush = [&] {
    if (segment.empty()) return;
    const bool has_beginning = begin != 0 || !continued, begins_with_space = segment[0] == ' ';
    const PrefixSpace prefix = has_beginning ? model.rules.prefix : PrefixSpace::kNever;
    const bool puts_space = prefix == PrefixSpace::kAlways ||
                            (prefix == PrefixSpace::kUnlessSpace && !begins_with_space) ||
                            (prefix == PrefixSpace::kFirstUnlessSpace && begin == 0 && !begins_with_space);
    const auto lowest = static_cast<std::int64_t>(begin);
    std::int64_t at = lowest - puts_space;
    if (puts_space) segment.insert(0, 1, ' ');
    for (std::size_t from = 0, end; from < segment.size(); from = end) {
      end = model.rules.splits ? std::min(segment.find(' ', from + 1), segment.size()) : segment.size();
      encode_pre_token(model, segment.substr(from, end - from), at, lowest, ++part, ids);
      at += static_cast<std::int64_t>(end - from);
    }
    segment.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t found = specials.size(), longest = 0;
    for (std::size_t i = 0; i < specials.size(); ++i) {
      if (specials[i].size() <= longest || text.compare(at, specials[i].size(), specials[i]) != 0) continue;
      found = i;
      longest = specials[i].size();
    }
    if (found == specials.size()) {
      if (segment.empty()) begin = at;
      segment += text[at++];
      continue;
    }
    flush();
    const auto from = static_cast<std::int64_t>(at);
    at += longest;
    ids.push_back({static_cast<std::uint32_t>(2000 + found), from, static_cast<std::int64_t>(at), ++part});
  }
  flush();
  return ids;
}

inline std::vector<std::uint32_t> only_ids(const std::vector<IdAt>& all) {
  std::vector<std::uint32_t> ids;
  for (const IdAt& each : all) ids.push_back(each.id);
  return ids;
}

// The words are cut where each pre-token begins, and never where a token that merges make has both characters.
inline void check_character_cuts(const CharacterModel& model, const std::string& text, std::size_t capacity) {
  const CharacterVocabulary vocabulary = model.vocabulary();
  const CharacterCuts cuts(vocabulary.made(), vocabulary.characters(), model.rules);
  const auto ends_of = [&](std::size_t most) {
    std::vector<std::size_t> found;
    std::vector<const Byte*> ends(most);
    for (const Byte* at = begin_of(text); at < end_of(text); at = begin_of(text) + found.back()) {
      const std::size_t count = cuts.scan(at, end_of(text), ends.data(), most);
      CHECK(count >= 1 && count <= most);
      for (std::size_t i = 0; i < count; ++i) found.push_back(static_cast<std::size_t>(ends[i] - begin_of(text)));
    }
    return found;
  };
  const std::vector<std::size_t> ends = ends_of(text.size() + 1);
  CHECK(ends == ends_of(capacity));
  CHECK(text.empty() ? ends.empty() : ends.back() == text.size());
  CHECK(std::is_sorted(ends.begin(), ends.end(), std::less_equal<>()));
  const std::vector<Char> chars = decode(text);
  for (std::size_t i = 1; i < chars.size(); ++i) {
    const Char &left = chars[i - 1], right = chars[i];
    const bool is_cut = std::binary_search(ends.begin(), ends.end(), right.begin);
    const bool begins_pre_token = model.rules.splits && text[right.begin] == ' ';
    if (begins_pre_token) CHECK(is_cut);
    if (!is_cut || begins_pre_token || left.code == kInvalid || right.code == kInvalid) continue;
    const std::string both = text.substr(left.begin, right.end - left.begin);
    for (const auto& [first, second] : model.merges_of_text()) {
      CHECK((first + second).find(both) == std::string::npos);
    }
  }
}

inline void check_character_encoder(const CharacterModel& model, const std::vector<std::string>& specials,
                                    const std::vector<std::string>& texts, unsigned threads, std::size_t chunk_bytes,
                                    Simd simd) {
  std::vector<AddedToken> added;
  for (std::size_t i = 0; i < specials.size(); ++i)
    added.push_back({specials[i], static_cast<std::uint32_t>(2000 + i)});
  const Encoder encoder = model.encoder(simd, chunk_bytes).with_added_tokens(added);
  const auto poll = [](std::size_t) {};
  EncodingOptions options;
  options.threads = threads;

  std::vector<IdAt> expected;
  std::vector<std::int64_t> offsets = {0}, counts;
  std::vector<Text> borrowed;
  for (const std::string& text : texts) {
    const std::vector<IdAt> ids = encode(model, specials, text);
    const auto check = [&](const IdBuffer& found) {
      CHECK(std::vector<std::uint32_t>(found.begin(), found.end()) == only_ids(ids));
    };
    encoder.encode_short(text_of(text), options, check, kNoPoll);
    expected.insert(expected.end(), ids.begin(), ids.end());
    offsets.push_back(static_cast<std::int64_t>(expected.size()));
    counts.push_back(static_cast<std::int64_t>(ids.size()));
    borrowed.push_back(text_of(text));
  }
  const Encoder::Encoded encoded = encoder.encode(borrowed, options, poll);
  CHECK(std::vector<std::uint32_t>(encoded.ids.begin(), encoded.ids.end()) == only_ids(expected));
  CHECK(encoded.offsets == offsets);
  CHECK(encoder.count(borrowed, options, poll) == counts);

  Decoder decoder;  // it knows how many bytes of text each id stands for
  std::vector<std::pair<std::uint32_t, std::string>> known(model.tokens.begin(), model.tokens.end());
  for (const std::uint32_t id : model.byte_ids) {
    if (id != CharacterVocabulary::kNoByte) known.emplace_back(id, "?");
  }
  for (const AddedToken& token : added) known.emplace_back(token.id, token.content);
  decoder.add({known.begin(), known.end()});
  const Encoder::EncodedWithOffsets detailed = encoder.encode_with_offsets(borrowed, options, decoder, poll);
  CHECK(detailed.offsets == offsets && detailed.token_offsets.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const TokenOffsets& found = detailed.token_offsets[i];
    CHECK((IdAt{detailed.ids.begin()[i], found.begin, found.end, found.part}) == expected[i]);
  }

  // With a space that a normalizer has put before the text, none is put.
  CharacterModel prefixed = model;
  prefixed.rules.prefix = PrefixSpace::kNever;
  const auto check_prefixed = [&](const IdBuffer& found) {
    CHECK(std::vector<std::uint32_t>(found.begin(), found.end()) == only_ids(encode(prefixed, specials, texts[0])));
  };
  encoder.without_prefix().encode_short(text_of(texts[0]), options, check_prefixed, kNoPoll);

  // Whatever follows the end, a cut changes nothing, if nothing is put before what continues the text.
  for (const std::string& text : texts) {
    const std::size_t cut = encoder.find_last_cut(text_of(text), options, kNoPoll);
    const auto is_at_cut = [&](const std::string& special) { return text.compare(cut, special.size(), special) == 0; };
    if (cut != 0 && std::none_of(specials.begin(), specials.end(), is_at_cut)) {  // they may strip white space
      CHECK(text[cut - 1] != ' ' && text[cut - 1] != '\n');
    }
    for (const std::string& more : {std::string(), texts[0]}) {
      if (cut == 0) continue;
      const std::string rest = text.substr(cut) + more;
      std::vector<std::uint32_t> parts = only_ids(encode(model, specials, text.substr(0, cut)));
      const std::vector<std::uint32_t> of_rest = only_ids(encode(model, specials, rest, true));
      const auto check_rest = [&](const IdBuffer& found) {
        CHECK(std::vector<std::uint32_t>(found.begin(), found.end()) == of_rest);
      };
      options.continued = true;
      encoder.encode_short(text_of(rest), options, check_rest, kNoPoll);
      options.continued = false;
      parts.insert(parts.end(), of_rest.begin(), of_rest.end());
      CHECK(parts == only_ids(encode(model, specials, text + more)));
    }
  }
}

// Random merges of random characters; some tokens are of no text.
template <class Draw>
CharacterModel make_character_model(Draw draw) {
  CharacterModel model;
  model.rules.prefix = PrefixSpace{static_cast<int>(draw(4))};
  model.rules.splits = draw(2);
  std::vector<std::string> parts;
  for (const std::string& character : kCharacters) {
    if (draw(4) != 0 || (model.rules.splits && character == " ")) parts.push_back(character);
  }
  if (parts.empty()) parts.push_back("a");
  for (std::size_t i = draw(30); i > 0; --i) {
    const std::pair pair(parts[draw(parts.size())], parts[draw(parts.size())]);
    if (pair.first.size() + pair.second.size() > 40) continue;
    if (std::find(model.merges.begin(), model.merges.end(), pair) != model.merges.end()) continue;
    model.merges.push_back(pair);
    parts.push_back(pair.first + pair.second);
  }
  if (draw(2)) {  // an order in which tokens need not arise
    for (std::size_t i = model.merges.size(); i > 1; --i) std::swap(model.merges[i - 1], model.merges[draw(i)]);
  }
  if (draw(4) == 0) parts.push_back("never");  // made by no merge
  const std::set<std::string> tokens(parts.begin(), parts.end());
  const std::uint32_t first_id = draw(4) == 0 ? 70'000 : 300;  // in 16 bits or more
  for (std::uint32_t id = first_id; const std::string& token : tokens) {
    model.tokens.emplace_back(id, token);
    if (draw(20) == 0 && token != " ") model.excluded.push_back(id);
    id += 2;
  }
  if (draw(2)) {
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      const bool is_needed = !model.find(std::string(1, static_cast<char>(byte)));
      model.byte_ids.push_back(is_needed || draw(2) ? byte : CharacterVocabulary::kNoByte);
    }
  } else {
    model.rules.unknown_id = draw(2) ? kUnknown : 299;
    model.rules.fuses_unknown = draw(2);
  }
  return model;
}

// Characters, tokens, and what is neither.
template <class Draw>
std::string make_text_of_characters(const CharacterModel& model, std::size_t pieces, Draw draw) {
  std::string text;
  for (; pieces > 0; --pieces) {
    switch (draw(8)) {
      case 0:
        text += kBrokenCharacters[draw(kBrokenCharacters.size())];
        break;
      case 1:
        text += "<x>";
        break;
      case 2:
      case 3:
        text += model.tokens[draw(model.tokens.size())].second;
        break;
      default:
        text += kCharacters[draw(kCharacters.size())];
    }
  }
  return text;
}

}  // namespace naive
