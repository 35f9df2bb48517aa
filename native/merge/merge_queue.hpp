// Queues of the merges that a long word may have: the lowest rank first, the leftmost of equal ones.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace hf_bpe {

// A rank, and the position in the word of the left part of its merge.
struct QueuedMerge {
  std::uint32_t rank, position;
};

class MergeHeap {
 public:
  void clear() { heap_.clear(); }
  bool empty() const { return heap_.empty(); }
  void push(std::uint32_t rank, std::uint32_t position) {
    heap_.push_back(std::uint64_t{rank} << 32 | position);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  QueuedMerge pop() {
    const std::uint64_t least = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
    return {static_cast<std::uint32_t>(least >> 32), static_cast<std::uint32_t>(least)};
  }

 private:
  std::vector<std::uint64_t> heap_;
};

// A list of positions for each rank, and a tree of bits that tells which lists have any. The merges of a rank are made
// from left to right, so those that they make possible mostly come in ascending order, too: each takes constant time,
// where a heap takes time that grows with the word, and waits for memory at each step. Positions that come out of
// order go to a heap of their list.
class RankQueue {
 public:
  explicit RankQueue(std::size_t ranks) : lists_(ranks) {
    for (std::size_t size = ranks; levels_.empty() || size > 1;) {
      size = (size + kBits - 1) / kBits;
      levels_.emplace_back(std::max<std::size_t>(size, 1));
    }
  }

  // Gives back its memory, except the tree's.
  void clear() {
    while (!empty()) {
      const std::uint32_t rank = least();
      *lists_[rank] = List();
      unmark(rank);
    }
    for (const std::uint32_t rank : used_) lists_[rank].reset();
    used_.clear();
  }
  bool empty() const { return levels_.back()[0] == 0; }

  void push(std::uint32_t rank, std::uint32_t position) {
    if (!lists_[rank]) {
      lists_[rank] = std::make_unique<List>();
      used_.push_back(rank);
    }
    List& list = *lists_[rank];
    if (list.is_empty()) {
      list.in_order.clear();
      list.next = 0;
      mark(rank);
    }
    if (list.next == list.in_order.size() || list.in_order.back() <= position) {
      list.in_order.push_back(position);
    } else {
      list.others.push_back(position);
      std::push_heap(list.others.begin(), list.others.end(), std::greater<>());
    }
  }

  QueuedMerge pop() {
    const std::uint32_t rank = least();
    List& list = *lists_[rank];
    std::uint32_t position;
    if (list.others.empty() || (list.next < list.in_order.size() && list.in_order[list.next] < list.others.front())) {
      position = list.in_order[list.next++];
    } else {
      position = list.others.front();
      std::pop_heap(list.others.begin(), list.others.end(), std::greater<>());
      list.others.pop_back();
    }
    if (list.is_empty()) unmark(rank);
    return {rank, position};
  }

 private:
  static constexpr std::size_t kBits = 64;

  struct List {
    std::vector<std::uint32_t> in_order, others;
    std::size_t next = 0;  // in those in order
    bool is_empty() const { return next == in_order.size() && others.empty(); }
  };

  void mark(std::size_t at) {
    for (std::vector<std::uint64_t>& level : levels_) {
      level[at / kBits] |= std::uint64_t{1} << (at % kBits);
      at /= kBits;
    }
  }
  void unmark(std::size_t at) {
    for (std::vector<std::uint64_t>& level : levels_) {
      level[at / kBits] &= ~(std::uint64_t{1} << (at % kBits));
      if (level[at / kBits] != 0) return;
      at /= kBits;
    }
  }
  std::uint32_t least() const {
    std::size_t at = 0;
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      at = at * kBits + static_cast<std::size_t>(std::countr_zero((*level)[at]));
    }
    return static_cast<std::uint32_t>(at);
  }

  std::vector<std::unique_ptr<List>> lists_;  // by rank; only of those that were used
  std::vector<std::uint32_t> used_;
  std::vector<std::vector<std::uint64_t>> levels_;  // a bit for each list, then for each word of the level before
};

}  // namespace hf_bpe
