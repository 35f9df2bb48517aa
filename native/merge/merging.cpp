#include "merge/merging.hpp"

#include <stdexcept>

#include "merge/interleaved.inc"

namespace hf_bpe {

const std::vector<Symbol>& Merger::merge(const Byte* word, std::size_t length, const PollFunction& poll) {
  if (length == 0) {
    symbols_.clear();
  } else if (length <= 17) {
    merge_by_scan<16>(word, length);
  } else if (length <= 33) {
    merge_by_scan<32>(word, length);
  } else if (length <= kLongestScan) {
    merge_by_scan<64>(word, length);
  } else if (length < shortest_of_ranks_) {
    MergeHeap heap;
    merge_by_queue(heap, word, length, poll);
  } else {
    if (!ranks_) ranks_ = std::make_unique<RankQueue>(vocabulary_.merges().size());
    merge_by_queue(*ranks_, word, length, poll);
  }
  return symbols_;
}

template <std::size_t kPairs>
void Merger::merge_by_scan(const Byte* word, std::size_t length) {
  const MergeTables tables = vocabulary_.merge_tables();
  symbols_.clear();
  with_ranks(tables, [&]<class Ranks>(const Ranks& ranks) {
    Lane<kPairs, Ranks> lane;
    lane.begin(ranks, word, length, word + length);
    while (lane.choose(ranks)) {
      if (lane.merge(ranks, tables.results)) last_rank_ = lane.last_rank();
    }
    lane.for_each([&](Symbol symbol) { symbols_.push_back(symbol); });
  });
}

// A linked list over the positions of the bytes: merging keeps the left position and drops the right one. The queue
// holds ranks with the positions of left symbols; stale entries are skipped when it is their turn.
template <class Queue>
void Merger::merge_by_queue(Queue& queue, const Byte* word, std::size_t length, const PollFunction& poll) {
  constexpr Rank kNone = Vocabulary::kNoMerge;
  constexpr Symbol kDropped = 0xFFFFFFFF;
  if (length >= kDropped) throw std::length_error("a pre-token of 2**32 bytes or more");
  const auto end = static_cast<std::uint32_t>(length);
  symbols_.assign(word, word + length);
  struct Links {
    std::uint32_t before, next;
  };
  std::vector<Links> links(length);
  PollInLoop polls(poll);
  queue.clear();  // an interrupt may have left something
  for (std::uint32_t i = 0; i < end; ++i) {
    polls();
    links[i] = {i - 1, i + 1};
    const Rank rank = i + 1 < end ? vocabulary_.rank_of_bytes(word + i) : kNone;
    if (rank != kNone) queue.push(rank, i);
  }
  const auto push = [&](std::uint32_t left, std::uint32_t right) {
    const Rank rank = vocabulary_.rank(symbols_[left], symbols_[right]);
    if (rank != kNone) queue.push(rank, left);
  };
  while (!queue.empty()) {
    polls();
    const auto [rank, left] = queue.pop();
    if (symbols_[left] == kDropped) continue;
    const std::uint32_t right = links[left].next;
    if (right == end || vocabulary_.rank(symbols_[left], symbols_[right]) != rank) continue;
    last_rank_ = rank;
    symbols_[left] = vocabulary_.result(rank);
    symbols_[right] = kDropped;
    const std::uint32_t after = links[left].next = links[right].next;
    if (left != 0) push(links[left].before, left);  // first, so that positions of equal pairs come in order
    if (after != end) {
      links[after].before = left;
      push(left, after);
    }
  }
  std::erase(symbols_, kDropped);
  queue.clear();
}

void merge_interleaved(const MergeTables& tables, PendingWord* words, std::size_t count) {
  merge_all(tables, words, count);
}

}  // namespace hf_bpe
