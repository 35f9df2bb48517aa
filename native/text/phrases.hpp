// Phrases: runs of mergeable pre-tokens, as hf_bpe/core/_phrases.py defines them.
#pragma once

#include <cstddef>

#include "text/class_sets.hpp"
#include "text/unicode.hpp"

namespace hf_bpe {

// The byte between the pre-tokens of a phrase, which no UTF-8 has.
inline constexpr Byte kPhraseSeparator = 0xFF;

// Whether a pre-token is valid UTF-8 with a letter and without a newline.
inline bool is_mergeable(const Byte* text, std::size_t length) {
  bool has_letter = false;
  for (const Byte* const end = text + length; text < end;) {
    const Character character = character_at(text, end);
    if (*text == '\n' || (*text >= 0x80 && character.length == 1)) return false;
    has_letter |= is_in<kLetters>(character.type);
    text += character.length;
  }
  return has_letter;
}

// Whether one of the two pre-tokens at a safe cut of the text is certainly not mergeable. No pattern with a name has a
// letter in a pre-token that ends with another ASCII character.
inline bool is_between_phrases(bool has_name, const Byte* cut) {
  if (cut[-1] == '\n' || *cut == '\n') return true;
  if (!has_name || cut[-1] <= ' ' || cut[-1] >= 0x7F) return false;
  const Byte lower = cut[-1] | 0x20;
  return lower < 'a' || lower > 'z';
}

}  // namespace hf_bpe
