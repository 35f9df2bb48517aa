#include "encode/supermerges.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <stdexcept>

namespace hf_bpe {

Supermerges::Supermerges(const std::vector<Merge>& merges) {
  if (merges.size() >= std::size_t{1} << 31) throw std::invalid_argument("too many supermerges");
  const auto bits = static_cast<unsigned>(std::bit_width(merges.size() * 2 | 15));
  entries_.resize(std::size_t{1} << bits);
  shift_ = 64 - bits;
  results_.reserve(merges.size());
  for (const auto& [first, second, result] : merges) {
    const std::uint64_t pair = std::uint64_t{first} << 32 | second;
    std::size_t slot = slot_of(pair);
    while (entries_[slot].rank != kNone && entries_[slot].pair != pair) slot = (slot + 1) & (entries_.size() - 1);
    if (entries_[slot].rank != kNone) throw std::invalid_argument("a supermerge is given twice");
    entries_[slot] = {pair, static_cast<std::uint32_t>(results_.size())};
    results_.push_back(result);
  }
}

std::size_t Supermerger::merge(std::uint32_t* run, std::size_t size, const PollFunction& poll) {
  if (size >= std::numeric_limits<std::uint32_t>::max()) throw std::length_error("a run of 2**32 pre-tokens or more");
  widths_.assign(size, 1);
  if (size < 2 || merges_.empty()) return size;
  return size <= kLongestScan ? merge_by_scan(run, size) : merge_by_heap(run, size, poll);
}

std::size_t Supermerger::merge_by_scan(std::uint32_t* run, std::size_t size) {
  std::uint32_t ranks[kLongestScan];  // of the pair that begins at each place
  for (std::size_t i = 0; i + 1 < size; ++i) ranks[i] = merges_.rank(run[i], run[i + 1]);
  while (size > 1) {
    const std::size_t at = static_cast<std::size_t>(std::min_element(ranks, ranks + size - 1) - ranks);
    if (ranks[at] == Supermerges::kNone) break;
    run[at] = merges_.result(ranks[at]);
    widths_[at] += widths_[at + 1];
    std::copy(run + at + 2, run + size, run + at + 1);
    std::copy(widths_.data() + at + 2, widths_.data() + size, widths_.data() + at + 1);
    if (at + 2 < size) std::copy(ranks + at + 2, ranks + size - 1, ranks + at + 1);
    --size;
    if (at > 0) ranks[at - 1] = merges_.rank(run[at - 1], run[at]);
    if (at + 1 < size) ranks[at] = merges_.rank(run[at], run[at + 1]);
  }
  return size;
}

std::size_t Supermerger::merge_by_heap(std::uint32_t* run, std::size_t size, const PollFunction& poll) {
  const auto end = static_cast<std::uint32_t>(size);
  next_.resize(size);
  previous_.resize(size);
  heap_.clear();
  PollInLoop polls(poll);
  const auto add = [&](std::uint32_t left, std::uint32_t right) {
    const std::uint32_t rank = merges_.rank(run[left], run[right]);
    if (rank != Supermerges::kNone) heap_.push_back(std::uint64_t{rank} << 32 | left);
    return rank != Supermerges::kNone;
  };
  for (std::uint32_t i = 0; i < end; ++i) {
    polls();
    next_[i] = i + 1;
    previous_[i] = i - 1;  // of the first one: wraps around
    if (i + 1 < end) add(i, i + 1);
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  while (!heap_.empty()) {
    polls();
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const auto rank = static_cast<std::uint32_t>(heap_.back() >> 32), left = static_cast<std::uint32_t>(heap_.back());
    heap_.pop_back();
    const std::uint32_t right = widths_[left] == 0 ? end : next_[left];  // a width of 0: merged into a token to the left
    if (right >= end || merges_.rank(run[left], run[right]) != rank) continue;  // the entry is stale
    run[left] = merges_.result(rank);
    widths_[left] += widths_[right];
    widths_[right] = 0;
    const std::uint32_t after = next_[left] = next_[right];
    if (after < end) {
      previous_[after] = left;
      if (add(left, after)) std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }
    const std::uint32_t before = previous_[left];
    if (before < end && add(before, left)) std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  std::size_t left = 0;
  for (std::uint32_t i = 0; i < end; i = next_[i]) {
    run[left] = run[i];
    widths_[left++] = widths_[i];
  }
  return left;
}

}  // namespace hf_bpe
