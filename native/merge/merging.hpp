// Encodes pre-tokens: merges the adjacent pair of lowest rank, leftmost first, until there is none.
#pragma once

#include <bit>
#include <cstddef>
#include <memory>
#include <vector>

#include "merge/merge_queue.hpp"
#include "merge/vocabulary.hpp"
#include "support/poll.hpp"

namespace hf_bpe {

// For one thread: owns its working memory.
class Merger {
 public:
  // Words of at least `shortest_of_ranks` bytes have a RankQueue: for shorter ones a heap is in the nearest caches.
  explicit Merger(const Vocabulary& vocabulary, std::size_t shortest_of_ranks = std::size_t{1} << 12)
      : vocabulary_(vocabulary), shortest_of_ranks_(shortest_of_ranks) {}

  // The symbols of a word, valid until the next call. Throws std::length_error for a word of 2**32 bytes or more.
  const std::vector<Symbol>& merge(const Byte* word, std::size_t length, const PollFunction& poll);

  // The rank of the last merge of the last word, if there was any.
  Rank last_rank() const { return last_rank_; }

  static constexpr std::size_t kLongestScan = 62;  // bytes; for longer words a heap is faster than scanning all pairs

  // The approximate number of steps of a heap for a longer word; the cost per byte grows with the heap.
  static constexpr std::size_t heap_steps(std::size_t length) { return length * std::bit_width(length / kLongestScan); }

 private:
  template <std::size_t kPairs>
  void merge_by_scan(const Byte* word, std::size_t length);
  template <class Queue>
  void merge_by_queue(Queue& queue, const Byte* word, std::size_t length, const PollFunction& poll);

  const Vocabulary& vocabulary_;
  const std::size_t shortest_of_ranks_;
  std::vector<Symbol> symbols_;
  std::unique_ptr<RankQueue> ranks_;
  Rank last_rank_ = Vocabulary::kNoMerge;
};

}  // namespace hf_bpe
