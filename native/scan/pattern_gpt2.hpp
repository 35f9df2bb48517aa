// gpt2, alone and after the stage `Digits`.
#pragma once

#include "scan/pattern.hpp"
#include "scan/pattern_parts.hpp"

namespace hf_bpe {

// '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
template <Digits kDigits>
const Byte* next_gpt2(const Byte* text, const Byte* end) {
  constexpr ClassSet kOthers = kMarks | kSymbols | kControls;
  constexpr ClassSet kEnd = kDigits == Digits::kMatched ? kNoClass : kNumbers;
  const Byte* contraction = skip_contraction<false>(text, end);
  if (contraction != text) return contraction;
  const Byte* start = text + (*text == ' ' && end - text > 1);
  const Character character = character_at(start, end);
  const Byte* rest = start + character.length;
  if (is_in<kLetters>(character.type)) return skip<kLetters>(rest, end);
  if (is_in<kNumbers>(character.type) && (kDigits == Digits::kMatched || start == text)) {
    return kDigits == Digits::kSingle ? rest : skip<kNumbers>(rest, end);
  }
  if (is_in<kOthers>(character.type)) return skip<kOthers>(rest, end);
  return skip_spaces<kEnd>(text, end, false);
}

}  // namespace hf_bpe
