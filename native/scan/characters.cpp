#include "scan/characters.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace hf_bpe {
namespace {

struct Decoded {
  std::uint32_t code;  // the bytes of the character, the first in the lowest bits
  unsigned length;
};

// The character at `text`. What has the form of one is taken for one, for no bytes of others have merges; a byte that
// belongs to none stands for itself.
inline Decoded decode(const Byte* text, const Byte* end) {
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
  return {*text, 1};
}

}  // namespace

CharacterCuts::CharacterCuts(const std::vector<std::string_view>& made, const std::vector<std::string_view>& known,
                             const CharacterRules& rules)
    : rules_(rules) {
  for (const std::string_view each : rules.fuses_unknown ? known : std::vector<std::string_view>()) {
    const auto* text = reinterpret_cast<const Byte*>(each.data());
    known_.insert(decode(text, text + each.size()).code);
  }
  is_cut_.fill(1);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;  // of which one is not ASCII
  for (const std::string_view token : made) {
    const auto* at = reinterpret_cast<const Byte*>(token.data());
    const Byte* const end = at + token.size();
    Decoded left = decode(at, end);
    while ((at += left.length) < end) {
      const Decoded right = decode(at, end);
      if (!rules.splits || right.code != ' ') {
        if (left.code < 0x80 && right.code < 0x80) {
          is_cut_[left.code << 7 | right.code] = 0;
        } else {
          pairs.emplace_back(left.code, right.code);
        }
      }
      left = right;
    }
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  shift_ = 64 - static_cast<unsigned>(std::bit_width(16 * pairs.size() | 1023));
  joins_.assign(std::size_t{1} << (64 - shift_) >> 6, 0);
  for (const auto& [left, right] : pairs) {
    const std::uint64_t bit = bit_of(left, right);
    joins_[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
}

std::size_t CharacterCuts::scan(const Byte* text, const Byte* end, const Byte** ends, std::size_t capacity) const {
  std::size_t count = 0;
  const Byte* at = text;  // the character before the next place
  while (at < end) {
    // Whether there is a cut is added instead of asked, because a branch would be mispredicted at every other word.
    if (Byte left = *at; left < 0x80) {
      const Byte* next = at + 1;
      for (; next < end && *next < 0x80; ++next) {
        ends[count] = next;
        count += is_cut_[left << 7 | *next];
        if (count == capacity) return count;
        left = *next;
      }
      at = next - 1;
    }
    Decoded left = decode(at, end);
    do {
      at += left.length;
      if (at == end) {
        ends[count++] = end;
        return count;
      }
      const Decoded right = decode(at, end);
      ends[count] = at;
      count += !may_join(left.code, right.code) || (rules_.splits && right.code == ' ');
      if (count == capacity) return count;
      left = right;
    } while (left.code >= 0x80);
  }
  return count;
}

const Byte* CharacterCuts::find_cut(const Byte* begin, const Byte* from, const Byte* end, const Byte* text_end) const {
  for (const Byte* at = std::max(from, begin + 1); at < end; ++at) {
    if (is_continuation(*at)) continue;
    const Character before = character_before(begin, at);
    if (is_white_space(before)) continue;
    const std::uint32_t left = decode(at - before.length, at).code;
    const std::uint32_t right = decode(at, text_end).code;
    if (may_join(left, right)) continue;
    if (rules_.fuses_unknown && !known_.contains(left) && !known_.contains(right)) continue;
    return at;
  }
  return end;
}

}  // namespace hf_bpe
