// Splitting at added tokens and safe cuts, compared with naive implementations on random input.
#include "added_tokens/added_tokens.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "examples.hpp"
#include "naive_tokens.hpp"
#include "random.hpp"

using namespace naive;

namespace {

// The 25 characters of White_Space.
const std::set<std::string> kWhiteSpace = {
    "\t",           "\n",           "\v",           "\f",           "\r",           " ",
    "\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81", "\xE2\x80\x82",
    "\xE2\x80\x83", "\xE2\x80\x84", "\xE2\x80\x85", "\xE2\x80\x86", "\xE2\x80\x87", "\xE2\x80\x88",
    "\xE2\x80\x89", "\xE2\x80\x8A", "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F",
    "\xE3\x80\x80"};
// A letter, a mark, a digit, a connector, a joiner, a letter in a circle, and one of four bytes.
const std::set<std::string> kOfWords = {
    "a", "\xD0\xB1", "\xCC\x81", "\xD9\xA3", "\xE2\x80\xBF", "\xE2\x80\x8D", "\xE2\x93\x90", "\xF0\xA0\x80\x80"};
// A digit in a circle, a dash, and a symbol of four bytes.
const std::set<std::string> kOthers = {"<", "\xE2\x91\xA0", "\xE2\x80\x94", "\xF0\x9F\x91\x8B"};
// Concatenations of these are not word characters either.
const std::vector<std::string> kInvalid = {"\xFF", "\x80", "\xC2", "\xE2\x80", "\xF0\x9F\x91"};

using Characters = std::vector<std::string>;

Characters characters_of(const std::string& text) {
  Characters characters;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = 1;
    for (const auto* known : {&kWhiteSpace, &kOfWords, &kOthers}) {
      for (const std::string& each : *known) {
        if (text.compare(at, each.size(), each) == 0) length = each.size();
      }
    }
    characters.push_back(text.substr(at, length));
    at += length;
  }
  return characters;
}

struct Part {
  std::string text;  // empty if the part is a token
  std::uint32_t id = 0;
  bool operator==(const Part&) const = default;
};

bool is_at(const Characters& token, const Characters& text, std::size_t at) {
  return token.size() <= text.size() - at && std::equal(token.begin(), token.end(), text.begin() + std::ptrdiff_t(at));
}

// A transcription of AddedTokenSplitter._split in hf_bpe/encoding/_added_tokens/rules.py.
std::vector<Part> split_round(const std::vector<AddedToken>& tokens, bool normalized, const Characters& text,
                              bool split_special_tokens) {
  const auto join = [&](std::size_t from, std::size_t to) {
    std::string joined;
    for (; from < to; ++from) joined += text[from];
    return joined;
  };
  std::vector<Part> parts;
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t start = at, stop = at;
    std::string content;
    for (const AddedToken& each : tokens) {
      const Characters characters = characters_of(each.content);
      if (each.normalized != normalized || characters.size() <= stop - start || !is_at(characters, text, at)) continue;
      stop = start + characters.size();
      content = each.content;
    }
    if (start == stop) {
      ++at;
      continue;
    }
    at = stop;
    AddedToken token;
    for (const AddedToken& each : tokens) {
      if (each.content == content) token = each;
    }
    const bool is_in_word =
        (start > 0 && kOfWords.count(text[start - 1])) || (stop < text.size() && kOfWords.count(text[stop]));
    if ((split_special_tokens && token.special) || (token.single_word && is_in_word)) continue;
    if (token.lstrip) {
      while (start > end && kWhiteSpace.count(text[start - 1])) --start;
      start = std::max(start, end);
    }
    while (token.rstrip && stop < text.size() && kWhiteSpace.count(text[stop])) ++stop;
    if (end < start) parts.push_back({join(end, start)});
    if (start < stop) parts.push_back({"", token.id});
    end = stop;
  }
  if (end < text.size()) parts.push_back({join(end, text.size())});
  return parts;
}

std::vector<Part> split(const std::vector<AddedToken>& tokens, const std::string& text, bool split_special_tokens) {
  std::vector<Part> parts;
  for (const Part& part : split_round(tokens, false, characters_of(text), split_special_tokens)) {
    if (part.text.empty()) {
      parts.push_back(part);
    } else {
      const auto inside = split_round(tokens, true, characters_of(part.text), split_special_tokens);
      parts.insert(parts.end(), inside.begin(), inside.end());
    }
  }
  return parts;
}

std::vector<Part> split(const AddedTokens& added, const Byte* begin, const Byte* end, bool split_special_tokens) {
  std::vector<Part> parts;
  added.split(
      begin, end, split_special_tokens,
      [&](const Byte* from, const Byte* to) {
        CHECK(begin <= from && from < to && to <= end);
        parts.push_back({std::string(from, to)});
      },
      [&](std::uint32_t id, const Byte* from, const Byte* to) {
        CHECK(begin <= from && from < to && to <= end);
        parts.push_back({"", id});
      });
  return parts;
}

// The parts of a cut text, with the pieces of each segment joined.
std::vector<Part> join(std::vector<Part> left, const std::vector<Part>& right, bool is_stretch) {
  for (const Part& part : right) {
    if (is_stretch && !left.empty() && !left.back().text.empty() && !part.text.empty()) {
      left.back().text += part.text;
    } else {
      left.push_back(part);
    }
    is_stretch = false;
  }
  return left;
}

int cuts_allowed = 0;

void check_added_tokens(const std::vector<AddedToken>& tokens, const std::string& text) {
  const AddedTokens added(tokens, draw(2) ? 0 : TokenFinder::kPatience);
  const Bytes bytes(text);
  const Byte* begin = bytes.begin();
  const Byte* end = bytes.end();
  for (const bool split_special_tokens : {false, true}) {
    const std::vector<Part> whole = split(tokens, text, split_special_tokens);
    CHECK(split(added, begin, end, split_special_tokens) == whole);
    AddedTokens::Walk walk(added, begin, begin + 1, end);
    std::size_t at = 0;
    for (const std::string& character : characters_of(text)) {
      at += character.size();
      if (kWhiteSpace.count(character)) continue;
      const Byte* cut = begin + at;
      // The least that must be readable.
      const Bytes known(text.substr(0, at + added.longest()));
      const Byte* const last = known.begin() + at;
      const bool is_allowed = AddedTokens::Walk(added, known.begin(), last, known.end()).allows_cut(last);
      CHECK(is_allowed == walk.allows_cut(cut));
      CHECK(is_allowed == !forbids_cut(tokens, text, at));
      if (!is_allowed) continue;
      ++cuts_allowed;
      const auto left = split(added, begin, cut, split_special_tokens);
      CHECK(join(left, split(added, cut, end, split_special_tokens), true) == whole);
    }
  }
}

void test_added_tokens() {
  Characters all;
  for (const auto* known : {&kWhiteSpace, &kOfWords, &kOthers}) all.insert(all.end(), known->begin(), known->end());
  const Characters spaces = {" ", "\n", "\xC2\x85", "\xE3\x80\x80"};
  for (int i = 0; i < examples(60'000); ++i) {
    Characters alphabet;
    for (std::size_t j = 1 + draw(4); j > 0; --j) alphabet.push_back(draw(3) ? draw_from(all) : draw_from(spaces));
    const bool has_flags = draw(4) != 0;
    std::vector<AddedToken> tokens;
    for (std::size_t j = draw(5); j > 0; --j) {
      std::string content;
      for (std::size_t k = draw(12) ? 1 + draw(3) : 0; k > 0; --k) content += draw_from(alphabet);
      const auto flag = [&] { return has_flags && draw(2); };
      tokens.push_back({content, static_cast<std::uint32_t>(100 + j), flag(), flag(), flag(), flag(), flag()});
    }
    std::string text;
    for (std::size_t j = draw(10); j > 0; --j) {
      const std::size_t kind = draw(8);
      text += kind == 0 ? draw_from(kInvalid) : draw_from(alphabet);
      if (kind > 4 && !tokens.empty()) text += draw_from(tokens).content;
    }
    check_added_tokens(tokens, text);
    const Pattern pattern = draw_from<Pattern>({Pattern::kNone, Pattern::kGpt2, Pattern::kO200k});
    check_cuts(tokens, text, pattern, draw(2), draw(2));
  }
  CHECK(cuts_allowed > examples(50'000));
}

// White-space tokens are found again in the white space that rstrip of others stripped. Scanning the following text for
// each of them would take hours here.
void test_white_space_is_skipped_once() {
  const std::string text(std::size_t{1} << 22, ' ');
  for (const bool lstrip : {false, true}) {
    const AddedTokens added({{" ", 1, false, false, lstrip, true, false}});
    std::size_t tokens = 0;
    added.split(
        begin_of(text), end_of(text), false, [](const Byte*, const Byte*) { CHECK(false); },
        [&](std::uint32_t, const Byte*, const Byte* end) { tokens += end == end_of(text); });
    CHECK(tokens == (lstrip ? 1 : text.size()));
  }
}

// Characters

void test_characters_of_words_are_those_of_the_table() {
  for (std::uint32_t code = 0; code < 0x110000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string character;
    if (code < 0x80) {
      character = {static_cast<char>(code)};
    } else if (code < 0x800) {
      character = {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
    } else if (code < 0x10000) {
      character = {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
                   static_cast<char>(0x80 | (code & 0x3F))};
    } else {
      character = {static_cast<char>(0xF0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 0x3F)),
                   static_cast<char>(0x80 | (code >> 6 & 0x3F)), static_cast<char>(0x80 | (code & 0x3F))};
    }
    const Bytes bytes(character);
    const Character found = character_before(bytes.begin(), bytes.end());
    CHECK(found.length == character.size() && found.type == class_of(code));
    CHECK(is_white_space(found) == (kWhiteSpace.count(character) == 1));
    static const CodeRange* range = kWordRanges;
    while (range != std::end(kWordRanges) && range->last < code) ++range;
    const bool is_inside = range != std::end(kWordRanges) && range->first <= code;
    CHECK(is_of_word(bytes.begin(), found) == is_inside);
  }
}

}  // namespace

int main() {
  test_added_tokens();
  test_white_space_is_skipped_once();
  test_characters_of_words_are_those_of_the_table();
}
