// o200k, tekken and kimi-k2: words cut where upper case follows lower case, and the common parts.
#pragma once

#include "scan/pattern.hpp"
#include "scan/pattern_parts.hpp"

namespace hf_bpe {

// [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+, where kBoth is in both classes; `text` itself if it
// doesn't match.
template <ClassSet kBoth>
const Byte* skip_cased_word(const Byte* text, const Byte* end) {
  const Byte* both = text;  // the end of the last character that is in the second class as well as in the first
  const Byte* at = text;
  while (at < end) {
    const Character character = character_at(at, end);
    if (character.type == Class::kLower) return skip<kLowers | kBoth>(at, end);
    if (!is_in<kUppers | kBoth>(character.type)) break;
    at += character.length;
    if (character.type != Class::kUpper) both = at;
  }
  return both;  // the first class gave back what follows it
}

// PATTERNS["o200k"]: the two alternatives of words with case, and what next_but_letters holds.
template <CasedWords kWords>
const Byte* next_o200k(const Byte* text, const Byte* end) {
  constexpr ClassSet kBoth = (kUncased | kMarks) & ~(kWords.han ? kHan : kNoClass);
  constexpr Tail kTail{kMarks | kSymbols | kControls, kWords.numbers, kWords.slashes, kNoClass};
  const Character first = character_at(text, end);
  if (kWords.han && is_in<kHan>(first.type)) return skip<kHan>(text + first.length, end);
  const bool prefix = !is_in<kNumbers | kNewlines | kLetters>(first.type);
  const Byte* word = text + (prefix ? first.length : 0);
  const Byte* rest = skip_cased_word<kBoth>(word, end);
  if (rest == word && is_in<kMarks>(first.type)) rest = skip_cased_word<kBoth>(word = text, end);
  if (rest == word) {  // the second alternative: only upper case is left, or it would have been the first
    word = text + (prefix ? first.length : 0);
    rest = skip<kUppers>(word, end);
  }
  if (rest == word) return next_but_letters<kTail>(text, end, first);
  return kWords.contractions && rest < end ? skip_contraction<true>(rest, end) : rest;
}

}  // namespace hf_bpe
