#include "encode/merging.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace hf_bpe {

const std::vector<Symbol>& Merger::merge(const Byte* word, std::size_t length, const PollFunction& poll) {
  if (length <= 14) {
    merge_by_scan<16>(word, length);
  } else if (length <= 30) {
    merge_by_scan<32>(word, length);
  } else if (length <= kLongestScan) {
    merge_by_scan<kLongestScan + 2>(word, length);
  } else {
    merge_by_heap(word, length, poll);
  }
  return symbols_;
}

// Symbols stay at the position of their first byte, counted from 1; a mask marks positions with a symbol. Before the
// first and after the last is a symbol that merges with nothing. A pair is its rank and position in one number, so the
// least is the next to merge. All loops except the one over merges have constant length, because branches are expensive
// here.
template <std::size_t kPlaces>
void Merger::merge_by_scan(const Byte* word, std::size_t length) {
  constexpr unsigned kPlaceBits = 6;
  constexpr std::uint32_t kNone = Vocabulary::kNoMerge << kPlaceBits;
  Byte bytes[kPlaces] = {};
  std::memcpy(bytes + 1, word, length);
  Symbol symbols[kPlaces];
  for (std::size_t i = 0; i < kPlaces; ++i) symbols[i] = bytes[i];
  symbols[0] = symbols[length + 1] = Vocabulary::kNoSymbol;
  alignas(32) std::uint32_t pairs[kPlaces];
  for (std::size_t i = 0; i + 1 < kPlaces; ++i) {
    const Rank rank = vocabulary_.rank_of_bytes(bytes[i], bytes[i + 1]);
    pairs[i] = i < length ? rank << kPlaceBits | static_cast<std::uint32_t>(i) : kNone;
  }
  pairs[0] = pairs[kPlaces - 1] = kNone;
  std::uint64_t places = ~std::uint64_t{0} >> (62 - length);
  const auto least_of_all = [&] {
    std::uint32_t least[8];
    for (std::size_t j = 0; j < 8; ++j) least[j] = pairs[j];
    for (std::size_t i = 8; i < kPlaces; i += 8) {
      for (std::size_t j = 0; j < 8; ++j) least[j] = std::min(least[j], pairs[i + j]);
    }
    for (std::size_t width = 4; width > 0; width /= 2) {
      for (std::size_t j = 0; j < width; ++j) least[j] = std::min(least[j], least[j + width]);
    }
    return least[0];
  };
  for (std::uint32_t least = least_of_all(); least < kNone;) {
    const unsigned at = least % (1 << kPlaceBits);
    last_rank_ = least >> kPlaceBits;
    const Symbol made = vocabulary_.result(last_rank_);
    const std::uint64_t rest = places & (~std::uint64_t{1} << at);
    const auto right = static_cast<unsigned>(std::countr_zero(rest));
    const auto after = static_cast<unsigned>(std::countr_zero(rest & (rest - 1)));
    const auto before = 63 - static_cast<unsigned>(std::countl_zero(places & ~(~std::uint64_t{0} << at)));
    symbols[at] = made;
    places ^= std::uint64_t{1} << right;
    // The other pairs are scanned while the two new pairs are looked up.
    pairs[before] = pairs[at] = pairs[right] = kNone;
    const std::uint32_t first = vocabulary_.rank(symbols[before], made) << kPlaceBits | before;
    const std::uint32_t second = vocabulary_.rank(made, symbols[after]) << kPlaceBits | at;
    least = std::min(least_of_all(), std::min(first, second));
    pairs[before] = first;
    pairs[at] = second;
  }
  symbols_.resize(kPlaces);
  std::size_t size = 0;
  for (places &= places - 1; places & (places - 1); places &= places - 1) {
    symbols_[size++] = symbols[std::countr_zero(places)];
  }
  symbols_.resize(size);
}

// A linked list over the positions of the bytes: merging keeps the left position and drops the right one. The heap
// holds ranks with the positions of left symbols; stale entries are skipped when they reach the top.
void Merger::merge_by_heap(const Byte* word, std::size_t length, const PollFunction& poll) {
  constexpr Rank kNone = Vocabulary::kNoMerge;
  constexpr Symbol kDropped = 0xFFFFFFFF;
  if (length >= kDropped) throw std::length_error("a pre-token of 2**32 bytes or more");
  const auto end = static_cast<std::uint32_t>(length);
  symbols_.assign(word, word + length);
  struct Links {
    std::uint32_t before, next;
  };
  std::vector<Links> links(length);
  std::vector<std::uint64_t> heap;
  PollInLoop polls(poll);
  for (std::uint32_t i = 0; i < end; ++i) {
    polls();
    links[i] = {i - 1, i + 1};
    const Rank rank = i + 1 < end ? vocabulary_.rank_of_bytes(word[i], word[i + 1]) : kNone;
    if (rank != kNone) heap.push_back(std::uint64_t{rank} << 32 | i);
  }
  const auto is_later = [](std::uint64_t a, std::uint64_t b) { return a > b; };
  std::make_heap(heap.begin(), heap.end(), is_later);
  const auto push = [&](std::uint32_t left, std::uint32_t right) {
    const Rank rank = vocabulary_.rank(symbols_[left], symbols_[right]);
    if (rank == kNone) return;
    heap.push_back(std::uint64_t{rank} << 32 | left);
    std::push_heap(heap.begin(), heap.end(), is_later);
  };
  while (!heap.empty()) {
    polls();
    const auto rank = static_cast<Rank>(heap.front() >> 32);
    const auto left = static_cast<std::uint32_t>(heap.front());
    std::pop_heap(heap.begin(), heap.end(), is_later);
    heap.pop_back();
    if (symbols_[left] == kDropped) continue;
    const std::uint32_t right = links[left].next;
    if (right == end || vocabulary_.rank(symbols_[left], symbols_[right]) != rank) continue;
    last_rank_ = rank;
    symbols_[left] = vocabulary_.result(rank);
    symbols_[right] = kDropped;
    const std::uint32_t after = links[left].next = links[right].next;
    if (after != end) {
      links[after].before = left;
      push(left, after);
    }
    if (left != 0) push(links[left].before, left);
  }
  std::erase(symbols_, kDropped);
}

}  // namespace hf_bpe
