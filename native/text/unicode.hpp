// Characters of UTF-8 text, their classes in the split patterns by Unicode 16.0, and word characters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "text/unicode_tables.hpp"

namespace hf_bpe {

using Byte = std::uint8_t;

// The numbers are those of tools/generate_unicode.py. The sets of classes that patterns ask for most are ranges in this
// order (class_sets.hpp). kHan… are of the script Han, of which DeepSeek's patterns name the ideographs from U+4E00 to
// U+9FA5; kKana… is U+3040 to U+30FF, Hiragana and Katakana.
enum class Class : std::uint8_t {
  kNumber,  // N
  kHanNumber,
  kSpace,    // White_Space but for the newlines
  kNewline,  // \r and \n
  kOther,    // C, but for the controls that are white space
  kKanaOther,
  kSymbol,  // P, S
  kHanSymbol,
  kKanaSymbol,
  kMark,  // M
  kHanMark,
  kKanaMark,
  kLetter,  // Lm, Lo: letters without case
  kIdeograph,
  kHanLetter,
  kKanaLetter,
  kLower,  // Ll
  kUpper,  // Lu, Lt
};

struct Character {
  Class type;
  unsigned length;  // in bytes; 1 for a byte outside valid UTF-8 sequences, which is of class kOther
};

inline Class class_of(std::uint32_t code) {
  return Class{kClassBlocks[kClassBlockOf[code / kClassBlockSize]][code % kClassBlockSize]};
}

inline bool is_continuation(Byte byte) { return (byte & 0xC0) == 0x80; }

// The bytes of a character, the first in the lowest bits: they tell characters apart without decoding them.
struct CharacterBytes {
  std::uint32_t bytes;
  unsigned length;
};

// Those of what has the form of a character at `text`, though it may be none; length 0 if nothing has. `text < end`.
inline CharacterBytes bytes_of_character(const Byte* text, const Byte* end) {
  if (*text < 0x80) return {*text, 1};
  std::uint32_t bytes = 0;
  if (end - text >= 4) {
    std::memcpy(&bytes, text, sizeof bytes);
  } else {
    for (std::ptrdiff_t i = end - text; i-- > 0;) bytes = bytes << 8 | text[i];
  }
  if ((bytes & 0xC0E0) == 0x80C0) return {bytes & 0xFFFF, 2};
  if ((bytes & 0xC0C0F0) == 0x8080E0) return {bytes & 0xFFFFFF, 3};
  if ((bytes & 0xC0C0C0F8) == 0x808080F0) return {bytes, 4};
  return {0, 0};
}

// Calls `on_code(code, length)` with the character at `text`, which begins with a byte from 0x80 on, and returns its
// result; `invalid` if no valid sequence begins there. `text < end`.
template <class OnCode, class Result>
Result decode_non_ascii(const Byte* text, const Byte* end, OnCode on_code, Result invalid) {
  const std::size_t left = static_cast<std::size_t>(end - text);
  const Byte lead = text[0];
  if (lead < 0xE0) {
    if (lead >= 0xC2 && left >= 2 && is_continuation(text[1])) {
      return on_code((lead & 0x1Fu) << 6 | (text[1] & 0x3Fu), 2u);
    }
  } else if (lead < 0xF0) {
    if (left >= 3 && is_continuation(text[1]) && is_continuation(text[2])) {
      const std::uint32_t code = (lead & 0x0Fu) << 12 | (text[1] & 0x3Fu) << 6 | (text[2] & 0x3Fu);
      if (code >= 0x800 && (code < 0xD800 || code > 0xDFFF)) return on_code(code, 3u);
    }
  } else if (lead < 0xF5) {
    if (left >= 4 && is_continuation(text[1]) && is_continuation(text[2]) && is_continuation(text[3])) {
      const std::uint32_t code =
          (lead & 0x07u) << 18 | (text[1] & 0x3Fu) << 12 | (text[2] & 0x3Fu) << 6 | (text[3] & 0x3Fu);
      if (code >= 0x10000 && code <= 0x10FFFF) return on_code(code, 4u);
    }
  }
  return invalid;
}

// The character at `text`, which begins with a byte from 0x80 on; `text < end`.
inline Character non_ascii_character(const Byte* text, const Byte* end) {
  return decode_non_ascii(
      text, end, [](std::uint32_t code, unsigned length) -> Character { return {class_of(code), length}; },
      Character{Class::kOther, 1});
}

// The character at `text`; `text < end`.
inline Character character_at(const Byte* text, const Byte* end) {
  if (*text < 0x80) return {Class{kClassBlocks[0][*text]}, 1};
  return non_ascii_character(text, end);
}

// The character that ends at `at`, in text that begins at `begin`; `begin < at`.
inline Character character_before(const Byte* begin, const Byte* at) {
  const auto most = static_cast<unsigned>(std::min<std::ptrdiff_t>(at - begin, 4));
  for (unsigned length = 1; length <= most; ++length) {
    if (is_continuation(at[-static_cast<int>(length)])) continue;
    const Character character = character_at(at - length, at);
    if (character.length == length) return character;
    break;
  }
  return {Class::kOther, 1};
}

inline bool is_white_space(Character character) {
  return character.type == Class::kSpace || character.type == Class::kNewline;
}

// Whether the character is a word character. It is called for few characters, so a binary search is enough.
inline bool is_of_word(const Byte* text, Character character) {
  std::uint32_t code = *text;
  if (character.length == 1) {
    if (code >= 0x80) return false;
  } else {
    code &= 0x7Fu >> character.length;
    for (unsigned i = 1; i < character.length; ++i) code = code << 6 | (text[i] & 0x3Fu);
  }
  const auto* range = std::partition_point(std::begin(kWordRanges), std::end(kWordRanges),
                                           [&](const CodeRange& each) { return each.last < code; });
  return range != std::end(kWordRanges) && range->first <= code;
}

}  // namespace hf_bpe
