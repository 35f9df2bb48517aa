// Independent slow versions of the split patterns, as backtracking expressions over decoded characters, which share
// only the Unicode tables with the core.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scan/scanner.hpp"

namespace naive {

using namespace hf_bpe;

inline const std::vector<Pattern> kPatterns = {
    Pattern::kNone,   Pattern::kGpt2,   Pattern::kGpt2Numbers, Pattern::kGpt2Digits,
    Pattern::kCl100k, Pattern::kQwen2,  Pattern::kQwen35,      Pattern::kMiniCpm5,
    Pattern::kO200k,  Pattern::kTekken, Pattern::kKimiK2,      Pattern::kDeepSeekV3,
};

inline constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

struct Char {
  std::uint32_t code;  // kInvalid for a byte outside valid sequences
  std::size_t begin, end;
};
inline constexpr std::uint32_t kInvalid = 0xFFFFFFFF;

inline std::string to_utf8(std::uint32_t code) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | code >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | code >> 18), tail(12), tail(6), tail(0)};
}

// A sequence is valid if it is the encoding of its code point.
inline std::vector<Char> decode(const std::string& text) {
  std::vector<Char> chars;
  for (std::size_t at = 0; at < text.size(); at = chars.back().end) {
    chars.push_back({kInvalid, at, at + 1});
    for (std::size_t length = 1; length <= 4 && at + length <= text.size(); ++length) {
      constexpr std::array<unsigned, 5> kBitsOfLead = {0, 0x7F, 0x1F, 0x0F, 0x07};
      std::uint32_t code = static_cast<unsigned char>(text[at]) & kBitsOfLead[length];
      for (std::size_t i = 1; i < length; ++i) code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3F);
      if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) continue;
      if (to_utf8(code) == text.substr(at, length)) chars.back() = {code, at, at + length};
    }
  }
  return chars;
}

inline std::optional<std::size_t> find_invalid_utf8(const std::string& text) {
  for (const Char& c : decode(text)) {
    if (c.code == kInvalid) return c.begin;
  }
  return std::nullopt;
}

using Predicate = bool (*)(std::uint32_t code);

inline bool is_in(std::uint32_t code, std::initializer_list<Class> classes) {
  const Class type = code == kInvalid ? Class::kOther : class_of(code);
  return std::find(classes.begin(), classes.end(), type) != classes.end();
}
inline bool Lm_Lo(std::uint32_t code) {
  return is_in(code, {Class::kLetter, Class::kIdeograph, Class::kHanLetter, Class::kKanaLetter});
}
inline bool L(std::uint32_t code) { return is_in(code, {Class::kUpper, Class::kLower}) || Lm_Lo(code); }
inline bool M(std::uint32_t code) { return is_in(code, {Class::kMark, Class::kHanMark, Class::kKanaMark}); }
inline bool N(std::uint32_t code) { return is_in(code, {Class::kNumber, Class::kHanNumber}); }
inline bool P_S(std::uint32_t code) { return is_in(code, {Class::kSymbol, Class::kHanSymbol, Class::kKanaSymbol}); }
inline bool s(std::uint32_t code) { return is_in(code, {Class::kSpace, Class::kNewline}); }
inline bool Han(std::uint32_t code) {
  return is_in(code, {Class::kIdeograph, Class::kHanLetter, Class::kHanMark, Class::kHanNumber, Class::kHanSymbol});
}
inline bool ideograph_or_kana(std::uint32_t code) {
  return (code >= 0x4E00 && code <= 0x9FA5) || (code >= 0x3040 && code <= 0x30FF);
}
inline bool rn(std::uint32_t code) { return code == '\r' || code == '\n'; }
inline bool rn_slash(std::uint32_t code) { return rn(code) || code == '/'; }
inline bool blank(std::uint32_t code) { return code == ' '; }
inline bool ascii_letter(std::uint32_t code) { return (code >= 'A' && code <= 'Z') || (code >= 'a' && code <= 'z'); }
inline bool ascii_symbol(std::uint32_t code) { return code > ' ' && code < 0x7F && !ascii_letter(code) && !N(code); }
inline bool L_M(std::uint32_t code) { return L(code) || M(code); }
inline bool not_s_L_N(std::uint32_t code) { return !s(code) && !L(code) && !N(code); }
inline bool not_s_L_M_N(std::uint32_t code) { return not_s_L_N(code) && !M(code); }
inline bool not_rn_L_N(std::uint32_t code) { return !rn(code) && !L(code) && !N(code); }
inline bool not_rn_L_P_S(std::uint32_t code) { return !rn(code) && !L(code) && !P_S(code); }
inline bool upper(std::uint32_t code) { return is_in(code, {Class::kUpper}) || Lm_Lo(code) || M(code); }
inline bool lower(std::uint32_t code) { return is_in(code, {Class::kLower}) || Lm_Lo(code) || M(code); }
inline bool upper_but_Han(std::uint32_t code) { return upper(code) && !Han(code); }
inline bool lower_but_Han(std::uint32_t code) { return lower(code) && !Han(code); }

// A part of an alternative: a class with its quantifier, all of which are greedy; a contraction; or (?!\S).
struct Part {
  enum { kClass, kContraction, kContractionAnyCase, kNoMoreButSpace } kind;
  Predicate is_member = nullptr;
  std::size_t least = 1, most = kNowhere;
};
using Alternative = std::vector<Part>;

inline Part some(Predicate is_member) { return {Part::kClass, is_member}; }
inline Part any(Predicate is_member) { return {Part::kClass, is_member, 0}; }
inline Part maybe(Predicate is_member) { return {Part::kClass, is_member, 0, 1}; }
using Expression = std::vector<Alternative>;

// The expressions of a pattern, each of which splits the pieces of the one before it.
inline const std::vector<Expression>& stages_of(Pattern pattern) {
  const Part one_to_three{Part::kClass, N, 1, 3}, one{Part::kClass, N, 1, 1};
  const Part not_before_text{Part::kNoMoreButSpace};
  const Part contraction{Part::kContractionAnyCase}, maybe_contraction{Part::kContractionAnyCase, nullptr, 0, 1};
  static const std::vector<Expression> none = {{{some([](std::uint32_t) { return true; })}}};
  static const Expression gpt2 = {{{Part::kContraction}},          {maybe(blank), some(L)},    {maybe(blank), some(N)},
                                  {maybe(blank), some(not_s_L_N)}, {some(s), not_before_text}, {some(s)}};
  static const auto cl100k_with = [&](const Part& numbers, Predicate word, Predicate others) -> Expression {
    return {{contraction},      {maybe(not_rn_L_N), some(word)}, {numbers}, {maybe(blank), some(others), any(rn)},
            {any(s), some(rn)}, {some(s), not_before_text},      {some(s)}};
  };
  static const auto o200k_with = [&](const Part& numbers, bool contractions, Predicate closing) -> Expression {
    Expression all = {{maybe(not_rn_L_N), any(upper), some(lower)},
                      {maybe(not_rn_L_N), some(upper), any(lower)},
                      {numbers},
                      {maybe(blank), some(not_s_L_N), any(closing)},
                      {any(s), some(rn)},
                      {some(s), not_before_text},
                      {some(s)}};
    if (contractions) {
      for (std::size_t word = 0; word < 2; ++word) all[word].push_back(maybe_contraction);
    }
    return all;
  };
  static const std::vector<Expression> gpt2_alone = {gpt2};
  static const std::vector<Expression> numbers_gpt2 = {{{some(N)}}, gpt2}, digits_gpt2 = {{{one}}, gpt2};
  static const std::vector<Expression> cl100k = {cl100k_with(one_to_three, L, not_s_L_N)};
  static const std::vector<Expression> qwen2 = {cl100k_with(one, L, not_s_L_N)};
  static const std::vector<Expression> qwen35 = {cl100k_with(one, L_M, not_s_L_M_N)};
  static const std::vector<Expression> minicpm5 = {{{one_to_three}}, cl100k_with(some(N), L, not_s_L_N)};
  static const std::vector<Expression> o200k = {o200k_with(one_to_three, true, rn_slash)};
  static const std::vector<Expression> tekken = {o200k_with(one, false, rn_slash)};
  static const std::vector<Expression> kimi_k2 = {[&] {
    Expression all = o200k_with(one_to_three, true, rn);
    for (std::size_t word = 0; word < 2; ++word) {
      all[word][1].is_member = upper_but_Han;
      all[word][2].is_member = lower_but_Han;
    }
    all.insert(all.begin(), {some(Han)});
    return all;
  }()};
  static const std::vector<Expression> deepseek_v3 = {{{one_to_three}},
                                                      {{some(ideograph_or_kana)}},
                                                      {{{Part::kClass, ascii_symbol, 1, 1}, some(ascii_letter)},
                                                       {maybe(not_rn_L_P_S), some(L_M)},
                                                       {maybe(blank), some(P_S), any(rn)},
                                                       {any(s), some(rn)},
                                                       {some(s), not_before_text},
                                                       {some(s)}}};
  switch (pattern) {
    case Pattern::kNone:
    case Pattern::kChain:
      return none;  // chains have tests of their own
    case Pattern::kGpt2:
      return gpt2_alone;
    case Pattern::kGpt2Numbers:
      return numbers_gpt2;
    case Pattern::kGpt2Digits:
      return digits_gpt2;
    case Pattern::kCl100k:
      return cl100k;
    case Pattern::kQwen2:
      return qwen2;
    case Pattern::kQwen35:
      return qwen35;
    case Pattern::kMiniCpm5:
      return minicpm5;
    case Pattern::kO200k:
      return o200k;
    case Pattern::kTekken:
      return tekken;
    case Pattern::kKimiK2:
      return kimi_k2;
    case Pattern::kDeepSeekV3:
      return deepseek_v3;
  }
  std::abort();
}

// The number of characters of a contraction at `at`, 0 if there is none.
inline std::size_t contraction_at(const std::vector<Char>& text, std::size_t at, bool any_case) {
  for (const std::string word : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    std::size_t i = 0;
    for (; i < word.size() && at + i < text.size(); ++i) {
      std::uint32_t code = text[at + i].code;
      if (any_case && code >= 'A' && code <= 'Z') code += 'a' - 'A';
      if (any_case && code == 0x17F) code = 's';  // the long s
      if (code != static_cast<unsigned char>(word[i])) break;
    }
    if (i == word.size()) return i;
  }
  return 0;
}

// The end of the match of the parts from `part` on that begins at character `at`; kNowhere if they do not match.
inline std::size_t match(const std::vector<Char>& text, std::size_t at, const Alternative& parts, std::size_t part) {
  if (part == parts.size()) return at;
  const Part& now = parts[part];
  std::size_t most = 0;
  if (now.kind == Part::kNoMoreButSpace) {
    return at == text.size() || s(text[at].code) ? match(text, at, parts, part + 1) : kNowhere;
  }
  if (now.kind != Part::kClass) {
    most = contraction_at(text, at, now.kind == Part::kContractionAnyCase);
    const std::size_t end = most == 0 ? kNowhere : match(text, at + most, parts, part + 1);
    return end == kNowhere && now.least == 0 ? match(text, at, parts, part + 1) : end;
  }
  while (most < now.most && at + most < text.size() && now.is_member(text[at + most].code)) ++most;
  for (std::size_t count = most + 1; count-- > now.least;) {
    if (const std::size_t end = match(text, at + count, parts, part + 1); end != kNowhere) return end;
  }
  return kNowhere;
}

// The pieces of a piece: the matches of an expression, and the text between them.
inline std::vector<std::vector<Char>> split(const std::vector<Char>& piece, const Expression& expression) {
  std::vector<std::vector<Char>> pieces;
  bool is_between = false;
  for (std::size_t at = 0; at < piece.size();) {
    std::size_t end = kNowhere;
    for (const Alternative& alternative : expression) {
      if (end = match(piece, at, alternative, 0); end != kNowhere) break;
    }
    const bool is_match = end != kNowhere;
    if (!is_match) end = at + 1;
    if (is_match || !is_between) pieces.emplace_back();
    pieces.back().insert(pieces.back().end(), piece.begin() + static_cast<std::ptrdiff_t>(at),
                         piece.begin() + static_cast<std::ptrdiff_t>(end));
    is_between = !is_match;
    at = end;
  }
  return pieces;
}

// The ends of the pre-tokens, in bytes.
inline std::vector<std::size_t> pre_token_ends(Pattern pattern, const std::string& text) {
  std::vector<std::vector<Char>> pieces = {decode(text)};
  for (const Expression& expression : stages_of(pattern)) {
    std::vector<std::vector<Char>> parts;
    for (const std::vector<Char>& piece : pieces) {
      for (std::vector<Char>& part : split(piece, expression)) parts.push_back(std::move(part));
    }
    pieces = std::move(parts);
  }
  std::vector<std::size_t> ends;
  for (const std::vector<Char>& piece : pieces) {
    if (!piece.empty()) ends.push_back(piece.back().end);
  }
  return ends;
}

}  // namespace naive
