// Independent slow versions of the split patterns, as backtracking expressions over decoded characters, which share
// only the Unicode tables with the core.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "text/scanner.hpp"

namespace naive {

using namespace hf_bpe;

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
inline bool L(std::uint32_t code) { return is_in(code, {Class::kUpper, Class::kLower, Class::kLetter}); }
inline bool N(std::uint32_t code) { return is_in(code, {Class::kNumber}); }
inline bool s(std::uint32_t code) { return is_in(code, {Class::kSpace, Class::kNewline}); }
inline bool rn(std::uint32_t code) { return code == '\r' || code == '\n'; }
inline bool rn_slash(std::uint32_t code) { return rn(code) || code == '/'; }
inline bool blank(std::uint32_t code) { return code == ' '; }
inline bool not_s_L_N(std::uint32_t code) { return !s(code) && !L(code) && !N(code); }
inline bool not_rn_L_N(std::uint32_t code) { return !rn(code) && !L(code) && !N(code); }
inline bool upper(std::uint32_t code) { return is_in(code, {Class::kUpper, Class::kLetter, Class::kMark}); }
inline bool lower(std::uint32_t code) { return is_in(code, {Class::kLower, Class::kLetter, Class::kMark}); }

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

inline const std::vector<Alternative>& alternatives_of(Pattern pattern) {
  const Part one_to_three{Part::kClass, N, 1, 3}, one{Part::kClass, N, 1, 1};
  const Part not_before_text{Part::kNoMoreButSpace};
  const Part contraction{Part::kContractionAnyCase}, maybe_contraction{Part::kContractionAnyCase, nullptr, 0, 1};
  static const std::vector<Alternative> none = {{some([](std::uint32_t) { return true; })}};
  static const std::vector<Alternative> gpt2 = {
      {{Part::kContraction}}, {maybe(blank), some(L)},     {maybe(blank), some(N)}, {maybe(blank), some(not_s_L_N)},
      {some(s), not_before_text}, {some(s)}};
  static const auto cl100k_with = [&](const Part& numbers) -> std::vector<Alternative> {
    return {{contraction},         {maybe(not_rn_L_N), some(L)}, {numbers}, {maybe(blank), some(not_s_L_N), any(rn)},
            {any(s), some(rn)}, {some(s), not_before_text},   {some(s)}};
  };
  static const std::vector<Alternative> cl100k = cl100k_with(one_to_three), qwen2 = cl100k_with(one);
  static const std::vector<Alternative> o200k = {
      {maybe(not_rn_L_N), any(upper), some(lower), maybe_contraction},
      {maybe(not_rn_L_N), some(upper), any(lower), maybe_contraction},
      {one_to_three},
      {maybe(blank), some(not_s_L_N), any(rn_slash)},
      {any(s), some(rn)},
      {some(s), not_before_text},
      {some(s)}};
  switch (pattern) {
    case Pattern::kNone: return none;
    case Pattern::kGpt2: return gpt2;
    case Pattern::kCl100k: return cl100k;
    case Pattern::kQwen2: return qwen2;
    case Pattern::kO200k: return o200k;
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

// The ends of the pre-tokens, in bytes.
inline std::vector<std::size_t> pre_token_ends(Pattern pattern, const std::string& text) {
  const std::vector<Char> chars = decode(text);
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < chars.size();) {
    std::size_t end = kNowhere;
    for (const Alternative& alternative : alternatives_of(pattern)) {
      if (end = match(chars, at, alternative, 0); end != kNowhere) break;
    }
    if (end == kNowhere) end = at + 1;  // no pattern has such a gap; the tests would show it
    ends.push_back(chars[end - 1].end);
    at = end;
  }
  return ends;
}

}  // namespace naive
