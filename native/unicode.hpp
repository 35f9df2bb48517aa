// Characters of UTF-8 text and the classes that the split patterns tell apart, by Unicode 16.0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "unicode_tables.hpp"

namespace hf_bpe {

using Byte = std::uint8_t;

// The numbers are those of tools/generate_unicode.py.
enum class Class : std::uint8_t {
  kOther,
  kUpper,    // Lu, Lt
  kLower,    // Ll
  kLetter,   // Lm, Lo: letters without case
  kMark,     // M
  kNumber,   // N
  kSpace,    // White_Space but for the newlines
  kNewline,  // \r and \n
};

struct Character {
  Class type;
  unsigned length;  // in bytes; 1 for a byte that belongs to no valid UTF-8 sequence, which is a character of kOther
};

inline Class class_of(std::uint32_t code) {
  return Class{kClassBlocks[kClassBlockOf[code / kClassBlockSize]][code % kClassBlockSize]};
}

inline bool is_continuation(Byte byte) { return (byte & 0xC0) == 0x80; }

// The character at `text`, which begins with a byte from 0x80 on; `text < end`.
inline Character non_ascii_character(const Byte* text, const Byte* end) {
  const std::size_t left = static_cast<std::size_t>(end - text);
  const Byte lead = text[0];
  if (lead < 0xE0) {
    if (lead >= 0xC2 && left >= 2 && is_continuation(text[1])) {
      return {class_of((lead & 0x1Fu) << 6 | (text[1] & 0x3Fu)), 2};
    }
  } else if (lead < 0xF0) {
    if (left >= 3 && is_continuation(text[1]) && is_continuation(text[2])) {
      const std::uint32_t code = (lead & 0x0Fu) << 12 | (text[1] & 0x3Fu) << 6 | (text[2] & 0x3Fu);
      if (code >= 0x800 && (code < 0xD800 || code > 0xDFFF)) return {class_of(code), 3};
    }
  } else if (lead < 0xF5) {
    if (left >= 4 && is_continuation(text[1]) && is_continuation(text[2]) && is_continuation(text[3])) {
      const std::uint32_t code =
          (lead & 0x07u) << 18 | (text[1] & 0x3Fu) << 12 | (text[2] & 0x3Fu) << 6 | (text[3] & 0x3Fu);
      if (code >= 0x10000 && code <= 0x10FFFF) return {class_of(code), 4};
    }
  }
  return {Class::kOther, 1};
}

// The character at `text`; `text < end`.
inline Character character_at(const Byte* text, const Byte* end) {
  if (*text < 0x80) return {Class{kClassBlocks[0][*text]}, 1};
  return non_ascii_character(text, end);
}

// The code point at `text`, 0xFFFFFFFF for a byte that belongs to no valid UTF-8 sequence; `text < end`.
inline std::uint32_t code_at(const Byte* text, const Byte* end) {
  switch (character_at(text, end).length) {
    case 1: return text[0] < 0x80 ? text[0] : 0xFFFFFFFF;
    case 2: return (text[0] & 0x1Fu) << 6 | (text[1] & 0x3Fu);
    case 3: return (text[0] & 0x0Fu) << 12 | (text[1] & 0x3Fu) << 6 | (text[2] & 0x3Fu);
    default: return (text[0] & 0x07u) << 18 | (text[1] & 0x3Fu) << 12 | (text[2] & 0x3Fu) << 6 | (text[3] & 0x3Fu);
  }
}

}  // namespace hf_bpe
