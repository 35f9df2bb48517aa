// Conversion of strings of wider units to UTF-8. A surrogate pair becomes one character, as in UTF-16; a lone surrogate
// becomes U+FFFD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "text/unicode.hpp"

namespace hf_bpe {

// The most bytes of UTF-8 for a unit of this size.
constexpr std::size_t utf8_bytes(std::size_t width) { return width == 1 ? 2 : width == 2 ? 3 : 4; }

// Writes the UTF-8 of the first character of `text`, and returns the numbers of bytes written and units read. `out` has
// room for `utf8_bytes` of a unit.
template <class Unit>
std::pair<std::size_t, std::size_t> one_to_utf8(const Unit* text, const Unit* end, Byte* out) {
  std::uint32_t code = *text;
  std::size_t units = 1;
  if (code < 0x80) {
    out[0] = static_cast<Byte>(code);
    return {1, units};
  }
  if (code < 0x800) {
    out[0] = static_cast<Byte>(0xC0 | code >> 6);
    out[1] = static_cast<Byte>(0x80 | (code & 0x3F));
    return {2, units};
  }
  if (code >= 0xD800 && code < 0xE000) {
    const std::uint32_t next = end - text > 1 ? text[1] : 0;
    if (code < 0xDC00 && next >= 0xDC00 && next < 0xE000) {
      code = 0x10000 + ((code - 0xD800) << 10) + (next - 0xDC00);
      units = 2;
    } else {
      code = 0xFFFD;
    }
  }
  std::size_t size = 0;
  if (code < 0x10000) {
    out[size++] = static_cast<Byte>(0xE0 | code >> 12);
  } else {
    out[size++] = static_cast<Byte>(0xF0 | code >> 18);
    out[size++] = static_cast<Byte>(0x80 | (code >> 12 & 0x3F));
  }
  out[size++] = static_cast<Byte>(0x80 | (code >> 6 & 0x3F));
  out[size++] = static_cast<Byte>(0x80 | (code & 0x3F));
  return {size, units};
}

// Writes UTF-8 and returns its end. `Unit` is that of Latin-1, UCS-2 or UCS-4; `out` has room for `utf8_bytes` of each.
template <class Unit>
Byte* to_utf8(const Unit* text, const Unit* end, Byte* out) {
  constexpr std::ptrdiff_t kRun = 16;  // units to check at once: in most texts most are ASCII
  while (text < end) {
    while (end - text >= kRun) {
      Unit all = 0;
      for (std::ptrdiff_t i = 0; i < kRun; ++i) all |= text[i];
      if (all >= 0x80) break;
      for (std::ptrdiff_t i = 0; i < kRun; ++i) out[i] = static_cast<Byte>(text[i]);
      text += kRun;
      out += kRun;
    }
    // A run with non-ASCII units, or the last run.
    for (const Unit* stop = end - text < kRun ? end : text + kRun; text < stop;) {
      const auto [size, units] = one_to_utf8(text, end, out);
      text += units;
      out += size;
    }
  }
  return out;
}

}  // namespace hf_bpe
