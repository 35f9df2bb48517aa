// The words of a training, as tokens in one array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "support/pages.hpp"
#include "support/poll.hpp"
#include "count/words.hpp"

namespace hf_bpe {

class FirstTokens;

using Symbol = std::uint32_t;    // a token of the training
using Position = std::uint32_t;  // of a slot

// Words stand one behind the other with a boundary between, the commonest first. At first each token has one slot.
// Merging two makes the new one as wide as both; it is named in its first slot and in its last, so that both neighbours
// are found without links.
struct TokenArray {
  static constexpr Symbol kBoundary = 0xFFFFFFFF;
  static constexpr Symbol kInside = 0xFFFFFFFE;  // where a token began that was merged into the one on its left

  // Of each word that is two tokens or more. Goes through the words twice, and through neither them nor the array at
  // random. `poll` is called now and then. Throws std::overflow_error where pairs could be counted past 64 bits,
  // std::length_error where positions are too few.
  TokenArray(const Words& words, FirstTokens& first_tokens, const PollFunction& poll);

  struct Size {
    std::size_t slots = 1, words = 0;
  };
  // Of the array of words as bytes. Throws what the constructor throws.
  static Size measure(const Words& words, const PollFunction& poll);
  // How much memory so many slots take.
  static std::uint64_t bytes(std::uint64_t slots) { return slots * sizeof(Symbol) + slots / kBlock * sizeof(std::uint64_t); }

  // Gives each token one slot, however wide it was, and leaves out words that are one token. After `poll` has thrown the
  // array is of no use.
  void compact(const std::vector<std::uint32_t>& widths, const PollFunction& poll);

  // How often the word at a position occurs.
  std::uint64_t count_at(std::size_t position) const { return counts[position / kBlock]; }

  Pages<Symbol> slots;  // the first and the last in use are boundaries
  std::size_t size = 0;

 private:
  class Layout;

  // Words of equal count stand together, and each such group begins at a multiple of this many slots: so one number for
  // as many slots is enough.
  static constexpr std::size_t kBlock = 32;
  static std::size_t round_up(std::size_t position) { return (position + kBlock - 1) / kBlock * kBlock; }
  void fill_up_to(std::size_t end, std::size_t& to) {
    while (to < end) slots[to++] = kBoundary;
  }
  // Notes the count of words with their boundaries.
  void set_count(std::size_t begin, std::size_t end, std::uint64_t count) {
    for (std::size_t block = begin / kBlock; block <= (end - 1) / kBlock; ++block) counts[block] = count;
  }

  Pages<std::uint64_t> counts;  // of the words in each block
};

}  // namespace hf_bpe
