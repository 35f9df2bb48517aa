// cl100k, llama3, qwen2, qwen3.5 and minicpm5: contractions, words without regard to case, and the common parts.
#pragma once

#include "scan/pattern_parts.hpp"

namespace hf_bpe {

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+, and what next_but_letters holds; with [\p{L}\p{M}]+ for
// `kWithMarks`. With `kNumbersFirst` an earlier stage takes the numbers, as in minicpm5.
template <int kMaxNumbers, bool kWithMarks = false, bool kNumbersFirst = false>
const Byte* next_cl100k(const Byte* text, const Byte* end) {
  constexpr ClassSet kWord = kLetters | (kWithMarks ? kMarks : kNoClass);
  constexpr ClassSet kOthers = (kMarks | kSymbols | kControls) & ~kWord;
  constexpr Tail kTail{kOthers, kMaxNumbers, false, kNumbersFirst ? kNumbers : kNoClass};
  const Byte* contraction = skip_contraction<true>(text, end);
  if (contraction != text) return contraction;
  const Character first = character_at(text, end);
  if (is_in<kWord>(first.type)) return skip<kWord>(text + first.length, end);
  if (!is_in<kNumbers | kNewlines>(first.type)) {
    const Byte* letters = text + first.length;
    const Byte* rest = skip<kWord>(letters, end);
    if (rest != letters) return rest;
  }
  return next_but_letters<kTail>(text, end, first);
}

}  // namespace hf_bpe
