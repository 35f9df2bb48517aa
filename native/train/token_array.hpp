// The words of a training as tokens in one array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "count/words.hpp"
#include "support/pages.hpp"
#include "support/poll.hpp"
#include "tables/symbols.hpp"
#include "train/sharing.hpp"

namespace hf_bpe {

class EncodedWords;
class FirstTokens;
struct WordEncoding;

using Position = std::uint32_t;  // the position of a slot

// Words are consecutive, separated by a boundary, the commonest first. At first each token has one slot. A merged token
// is as wide as its two parts; it is stored in its first and its last slot, so that both neighbors are found without
// links.
struct TokenArray {
  static constexpr Symbol kBoundary = 0xFFFFFFFF;
  static constexpr Symbol kInside = 0xFFFFFFFE;  // the former beginning of a token merged into its left one

  // Whether neither slot is a boundary.
  static bool are_tokens(Symbol first, Symbol second) { return first != kBoundary && second != kBoundary; }

  // Takes each word of two tokens or more. Iterates over the words twice if their tokens are bytes; else once, and
  // encodes them in threads. `poll` is called from time to time. Throws std::overflow_error if counts of pairs could
  // exceed 64 bits, and std::length_error if there are too few positions.
  TokenArray(const Words& words, const FirstTokens& first_tokens, const WordEncoding& how, const PollFunction& poll);

  struct Size {
    std::size_t slots = 1, words = 0;
  };
  // The size of the array for words as bytes. Throws like the constructor.
  static Size measure(const Words& words, const PollFunction& poll);
  // The memory of this many slots.
  static std::uint64_t bytes(std::uint64_t slots) {
    return slots * sizeof(Symbol) + slots / kBlock * sizeof(std::uint64_t);
  }

  // Compacts each token to one slot, and drops words of one token. If `poll` throws, the array is unusable.
  void compact(const std::vector<std::uint32_t>& widths, const Sharing& sharing, const PollFunction& poll);

  // The count of the word at a position.
  std::uint64_t count_at(std::size_t position) const { return counts[position / kBlock]; }

  Pages<Symbol> slots;  // the first and last used slots are boundaries
  std::size_t size = 0;

 private:
  class Layout;
  // Consecutive words of equal count.
  struct Group {
    std::size_t begin, end;
    std::uint64_t count;
  };
  std::vector<Group> compact(std::size_t at, std::size_t end, const std::vector<std::uint32_t>& widths,
                             const PollFunction& poll);
  void fill(EncodedWords encoded, const PollFunction& poll);
  template <class ForEach, class SymbolOf>
  void fill(Layout layout, ForEach for_each, SymbolOf symbol_of);

  // Words of equal count are grouped, and each group begins at a multiple of this many slots, so one number per block
  // is enough.
  static constexpr std::size_t kBlock = 32;
  static std::size_t round_up(std::size_t position) { return (position + kBlock - 1) / kBlock * kBlock; }
  void fill_up_to(std::size_t end, std::size_t& to) {
    while (to < end) slots[to++] = kBoundary;
  }
  // Stores the count of words with their boundaries.
  void set_count(std::size_t begin, std::size_t end, std::uint64_t count) {
    for (std::size_t block = begin / kBlock; block <= (end - 1) / kBlock; ++block) counts[block] = count;
  }

  Pages<std::uint64_t> counts;  // the count of the words in each block
};

}  // namespace hf_bpe
