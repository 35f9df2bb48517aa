// Supermerges: merges of whole pre-tokens, after all others. See hf_bpe/core/_supermerges.py for the definition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/poll.hpp"

namespace hf_bpe {

// The table of supermerges by pairs of numbers, which are ids of tokens or symbols of a training. Immutable.
class Supermerges {
 public:
  struct Merge {
    std::uint32_t first, second, result;
  };
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  // Merges by rank. Throws std::invalid_argument if a pair is given twice or there are too many.
  explicit Supermerges(const std::vector<Merge>& merges);

  bool empty() const { return results_.empty(); }

  // The rank of a pair, kNone if it has none; and the result of a merge.
  std::uint32_t rank(std::uint32_t first, std::uint32_t second) const {
    const std::uint64_t pair = std::uint64_t{first} << 32 | second;
    for (std::size_t slot = slot_of(pair);; slot = (slot + 1) & (entries_.size() - 1)) {
      const Entry& entry = entries_[slot];
      if (entry.rank == kNone || entry.pair == pair) return entry.rank;
    }
  }
  std::uint32_t result(std::uint32_t rank) const { return results_[rank]; }

 private:
  struct Entry {
    std::uint64_t pair = 0;
    std::uint32_t rank = kNone;  // kNone if the entry is empty
  };
  std::size_t slot_of(std::uint64_t pair) const { return pair * 0x9E3779B97F4A7C15 >> shift_; }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> results_;  // by rank
  unsigned shift_;
};

// Applies supermerges to runs; owns its working memory.
class Supermerger {
 public:
  explicit Supermerger(const Supermerges& merges) : merges_(merges) {}

  // Merges a run in place, and returns how many tokens are left: the adjacent pair of lowest rank first, the leftmost of
  // several, in O(n log n). Throws std::length_error for a run of 2**32 tokens or more.
  std::size_t merge(std::uint32_t* run, std::size_t size, const PollFunction& poll);

  // How many tokens of the last run each one covers that is left.
  const std::vector<std::uint32_t>& widths() const { return widths_; }

 private:
  static constexpr std::size_t kLongestScan = 32;  // tokens; for longer runs a heap is faster than scanning all pairs

  std::size_t merge_by_scan(std::uint32_t* run, std::size_t size);
  std::size_t merge_by_heap(std::uint32_t* run, std::size_t size, const PollFunction& poll);

  const Supermerges& merges_;
  std::vector<std::uint32_t> widths_, next_, previous_;
  std::vector<std::uint64_t> heap_;  // rank and position of the left token
};

}  // namespace hf_bpe
