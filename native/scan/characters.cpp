#include "scan/characters.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace hf_bpe {
namespace {

// What has the form of a character is taken for one, for no bytes of others have merges; a byte that belongs to none
// stands for itself.
inline CharacterBytes next_character(const Byte* text, const Byte* end) {
  const CharacterBytes found = bytes_of_character(text, end);
  return found.length != 0 ? found : CharacterBytes{*text, 1};
}

}  // namespace

CharacterCuts::CharacterCuts(const std::vector<std::string_view>& made, const std::vector<std::string_view>& known,
                             const CharacterRules& rules)
    : rules_(rules) {
  for (const std::string_view each : rules.fuses_unknown ? known : std::vector<std::string_view>()) {
    const auto* text = reinterpret_cast<const Byte*>(each.data());
    known_.insert(next_character(text, text + each.size()).bytes);
  }
  is_cut_.fill(1);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;  // of which one is not ASCII
  for (const std::string_view token : made) {
    const auto* at = reinterpret_cast<const Byte*>(token.data());
    const Byte* const end = at + token.size();
    CharacterBytes left = next_character(at, end);
    while ((at += left.length) < end) {
      const CharacterBytes right = next_character(at, end);
      if (!rules.splits || right.bytes != ' ') {
        if (left.bytes < 0x80 && right.bytes < 0x80) {
          is_cut_[left.bytes << 7 | right.bytes] = 0;
        } else {
          pairs.emplace_back(left.bytes, right.bytes);
        }
      }
      left = right;
    }
  }
  const auto set_bits = [&](std::size_t bits) {
    shift_ = 64 - static_cast<unsigned>(std::bit_width(bits | 1023));
    joins_.assign(std::size_t{1} << (64 - shift_) >> 6, 0);
    for (const auto& [left, right] : pairs) {
      const std::uint64_t bit = bit_of(left, right);
      joins_[bit / 64] |= std::uint64_t{1} << (bit % 64);
    }
  };
  set_bits(pairs.size());  // to count them: most occur several times, and sorting takes three times as long
  std::size_t distinct = 0;
  for (const std::uint64_t word : joins_) distinct += static_cast<std::size_t>(std::popcount(word));
  set_bits(16 * distinct);
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
    CharacterBytes left = next_character(at, end);
    do {
      at += left.length;
      if (at == end) {
        ends[count++] = end;
        return count;
      }
      const CharacterBytes right = next_character(at, end);
      if ((left.bytes | right.bytes) < 0x80) break;  // as a single space between words is none
      ends[count] = at;
      count += !may_join_others(left.bytes, right.bytes) || (rules_.splits && right.bytes == ' ');
      if (count == capacity) return count;
      left = right;
    } while (true);
    --at;
  }
  return count;
}

const Byte* CharacterCuts::find_cut(const Byte* begin, const Byte* from, const Byte* end, const Byte* text_end) const {
  for (const Byte* at = std::max(from, begin + 1); at < end; ++at) {
    if (is_continuation(*at)) continue;
    const Character before = character_before(begin, at);
    if (is_white_space(before)) continue;
    const std::uint32_t left = next_character(at - before.length, at).bytes;
    const std::uint32_t right = next_character(at, text_end).bytes;
    if (may_join(left, right)) continue;
    if (rules_.fuses_unknown && !known_.contains(left) && !known_.contains(right)) continue;
    return at;
  }
  return end;
}

}  // namespace hf_bpe
