#include "merge/joins.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace hf_bpe {
namespace {

// The number of bytes of the character that begins with a byte; 0 if none does.
std::size_t length_from(Byte first) {
  if (first < 0x80) return 1;
  return first < 0xC0 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF8 ? 4 : 0;
}

}  // namespace

Joins::Joins(const std::vector<std::string_view>& tokens) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const std::string_view token : tokens) {
    const auto* const begin = reinterpret_cast<const Byte*>(token.data());
    const Byte* const end = begin + token.size();
    if (std::none_of(begin, end, [](Byte byte) { return byte >= 0x80; })) continue;
    for (const Byte* at = begin + 1; at < end; ++at) {
      if (is_continuation(*at) || (*at < 0x80 && at[-1] < 0x80)) continue;
      const Byte* left = at - 1;
      while (left > begin && at - left < 4 && is_continuation(*left)) --left;
      if (left == begin && is_continuation(*left)) {
        joined_bytes_[place_of(at[-1], *at)] = true;
        continue;
      }
      // Characters that are not well-formed are not in words that are cut.
      const CharacterBytes before = bytes_of_character(left, at);
      if (before.length != static_cast<std::size_t>(at - left)) continue;
      const bool is_whole = static_cast<std::size_t>(end - at) >= length_from(*at);
      pairs.emplace_back(before.bytes, is_whole ? bytes_of_character(at, end).bytes : *at);
    }
  }
  shift_ = 64 - static_cast<unsigned>(std::bit_width(4 * pairs.size() | 1023));
  joins_.assign(std::size_t{1} << (64 - shift_) >> 6, 0);
  for (const auto& [left, right] : pairs) {
    const std::uint64_t bit = bit_of(left, right);
    joins_[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
}

std::size_t Joins::cut(const Byte* word, const Byte* end, const Byte** ends, std::size_t capacity) const {
  std::size_t count = 0;
  CharacterBytes left = bytes_of_character(word, end);
  for (const Byte* at = word; count < capacity;) {
    at += left.length;
    ends[count] = at;
    if (left.length == 0 || at == end) {
      ends[count++] = end;
      break;
    }
    const CharacterBytes right = bytes_of_character(at, end);
    // Whether there is a cut is added instead of asked, because a branch would often be mispredicted.
    const bool may_cut = right.length != 0 && (left.bytes >= 0x80 || right.bytes >= 0x80);
    const bool is_joined = has(bit_of(left.bytes, right.bytes)) || has(bit_of(left.bytes, *at)) ||
                           (left.bytes >= 0x80 && joined_bytes_[place_of(at[-1], *at)]);
    count += may_cut && !is_joined;
    left = right;
  }
  return count;
}

}  // namespace hf_bpe
