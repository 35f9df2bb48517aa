// Where words may be cut between two characters, because no token holds both: then pieces of few characters, which
// recur, have the ids of the word.
// Why it is exact: a merge that crossed such a place would make a token that holds what is on its sides. So each
// side is merged as if it were alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/unicode.hpp"

namespace hf_bpe {

class Joins {
 public:
  Joins() = default;
  // Of all tokens that merges make, or that words are compared with as a whole. Only tokens with a byte beyond
  // ASCII count.
  explicit Joins(const std::vector<std::string_view>& tokens);

  // Writes the ends of the first pieces of a word to `ends`, at most `capacity`, and returns their number; what is not
  // well-formed UTF-8 is left in one piece. It is never cut between two characters of ASCII.
  std::size_t cut(const Byte* word, const Byte* end, const Byte** ends, std::size_t capacity) const;

 private:
  std::uint64_t bit_of(std::uint32_t left, std::uint32_t right) const {
    return (std::uint64_t{left} << 32 | right) * 0x9E3779B97F4A7C15 >> shift_;
  }
  bool has(std::uint64_t bit) const { return joins_[bit / 64] >> (bit % 64) & 1; }
  // By the last byte of a character beyond ASCII and the first one of the next.
  static std::size_t place_of(Byte last, Byte first) { return std::size_t{last & 0x3Fu} << 8 | first; }

  // A bit for each hash of a character and the next one, or only its first byte, if a token ends in it.
  std::vector<std::uint64_t> joins_ = {0};
  unsigned shift_ = 63;
  std::array<bool, 1 << 14> joined_bytes_ = {};  // where a token begins in the first character
};

}  // namespace hf_bpe
