// The symbols of characters, with which words of models whose alphabet is characters begin to be merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/unicode.hpp"

namespace hf_bpe {

class CharacterSymbols {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  CharacterSymbols() : symbols_(std::size_t{1} << 16, kNone) {}

  // Characters beyond U+FFFF are left out: words with one are merged from bytes.
  void add(const Byte* character, const Byte* end, std::uint32_t symbol) {
    const std::uint32_t code = *character < 0x80 ? *character : code_of(character, end).code;
    if (code < symbols_.size()) symbols_[code] = symbol;
  }

  struct Found {
    std::uint32_t symbol;  // kNone if the character has none, or is not valid UTF-8
    unsigned length;
  };
  // Of the character at `text`; `text < end`.
  Found find(const Byte* text, const Byte* end) const {
    if (*text < 0x80) return {*text, 1};
    const Code found = code_of(text, end);
    return {found.code < symbols_.size() ? symbols_[found.code] : kNone, found.length};
  }

 private:
  struct Code {
    std::uint32_t code;
    unsigned length;
  };
  static Code code_of(const Byte* text, const Byte* end) {
    return decode_non_ascii(
        text, end, [](std::uint32_t code, unsigned length) -> Code { return {code, length}; }, Code{kNone, 1});
  }

  std::vector<std::uint32_t> symbols_;  // by code point
};

}  // namespace hf_bpe
