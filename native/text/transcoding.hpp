// Conversion of strings of wider units to UTF-8. A surrogate pair becomes one character, as in UTF-16; a lone surrogate
// becomes U+FFFD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "support/simd.hpp"
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

// Writes the UTF-8 of a text of `width` bytes a unit, which is Latin-1, UCS-2 or UCS-4, and returns its end. `out` has
// room for `utf8_bytes` of each unit and for kTranscodingSlack more, which may be overwritten.
using Transcode = Byte* (*)(const Byte* text, const Byte* end, unsigned width, Byte* out);
inline constexpr std::size_t kTranscodingSlack = 16;

Byte* transcode(const Byte* text, const Byte* end, unsigned width, Byte* out);
// May only be called on machines with AVX2.
Byte* transcode_avx2(const Byte* text, const Byte* end, unsigned width, Byte* out);

inline Transcode transcode_for([[maybe_unused]] Simd simd) {
#if defined(HF_BPE_X86)
  if (simd == Simd::kAvx2) return transcode_avx2;
#endif
  return transcode;
}

// The next unit of a text to convert, and where its UTF-8 is written.
struct TranscodingPlace {
  const Byte* text;
  Byte* out;
};

// Converts the characters that begin before `stop`, one by one, in a text that ends at `end`.
TranscodingPlace transcode_characters(TranscodingPlace at, const Byte* stop, const Byte* end, unsigned width);

}  // namespace hf_bpe
