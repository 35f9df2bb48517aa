// Cuts of text for models whose alphabet is characters, which have no pattern or split at spaces only.
// A merge that crossed the place between two characters would make a token that holds both side by side. So where no
// token that merges make holds them, the text may be cut, and the words between cuts recur and are cached.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "text/unicode.hpp"

namespace hf_bpe {

// Before which segments of text between added tokens a space is put.
enum class PrefixSpace {
  kNever,
  kUnlessSpace,       // before each that does not begin with one
  kAlways,            // before each
  kFirstUnlessSpace,  // before one at the beginning of the text that does not begin with one
};

// What text is cut by, besides the tokens that merges make.
struct CharacterRules {
  PrefixSpace prefix = PrefixSpace::kNever;
  bool splits = false;                      // each space, which is a token, begins a pre-token; else none does
  std::optional<std::uint32_t> unknown_id;  // the id of characters without a token, if they do not become bytes
  bool fuses_unknown = false;               // unknown characters side by side become one id
  bool keeps_spaces = false;                // as in AddedTokens
};

class CharacterCuts {
 public:
  // `made`: the tokens that merges make; `known`: tokens of one character; both in valid UTF-8.
  CharacterCuts(const std::vector<std::string_view>& made, const std::vector<std::string_view>& known,
                const CharacterRules& rules);

  const CharacterRules& rules() const { return rules_; }

  // As Scanner: writes the ends of the first words of a text, at most `capacity`, and returns how many. A word may be
  // longer than necessary, but no pre-token ends in it.
  std::size_t scan(const Byte* text, const Byte* end, const Byte** ends, std::size_t capacity) const;

  // As find_safe_cut of scanner.hpp, in text up to `text_end`, for `end` may be in a character; not after white space.
  const Byte* find_cut(const Byte* begin, const Byte* from, const Byte* end, const Byte* text_end) const;

 private:
  bool may_join(std::uint32_t left, std::uint32_t right) const {
    return (left | right) < 0x80 ? !is_cut_[left << 7 | right] : may_join_others(left, right);
  }
  bool may_join_others(std::uint32_t left, std::uint32_t right) const {  // of which one is not ASCII
    const std::uint64_t bit = bit_of(left, right);
    return joins_[bit / 64] >> (bit % 64) & 1;
  }
  std::uint64_t bit_of(std::uint32_t left, std::uint32_t right) const {
    return (std::uint64_t{left} << 32 | right) * 0x9E3779B97F4A7C15 >> shift_;
  }

  CharacterRules rules_;
  std::unordered_set<std::uint32_t> known_;  // with fuses_unknown: no cut is safe between two others
  std::array<Byte, 1 << 14> is_cut_;         // by pair of ASCII characters
  std::vector<std::uint64_t> joins_;         // a bit for each hash of another pair
  unsigned shift_;
};

}  // namespace hf_bpe
