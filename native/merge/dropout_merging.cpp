#include "merge/dropout_merging.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "support/hashing.hpp"

namespace hf_bpe {

namespace {

constexpr std::size_t kLongestShort = 62;  // bytes; longer words take a heap
constexpr unsigned kPlaceBits = 6;
constexpr std::uint32_t kNoPair = 0xFFFFFFFF;

// The least of several numbers, a multiple of 8.
inline std::uint32_t min_of(const std::uint32_t* pairs, std::size_t count) {
  std::uint32_t least[8];
  for (std::size_t j = 0; j < 8; ++j) least[j] = pairs[j];
  for (std::size_t i = 8; i < count; i += 8) {
    for (std::size_t j = 0; j < 8; ++j) least[j] = std::min(least[j], pairs[i + j]);
  }
  for (std::size_t width = 4; width > 0; width /= 2) {
    for (std::size_t j = 0; j < width; ++j) least[j] = std::min(least[j], least[j + width]);
  }
  return least[0];
}

}  // namespace

std::size_t DropoutMerger::merge(const Byte* word, std::size_t length, const WordDraws& draws, std::uint32_t* out,
                                 const PollFunction& poll) {
  Skips skips(draws);
  return length <= kLongestShort ? merge_short(word, length, skips, out)
                                 : merge_by_heap(word, length, skips, out, poll);
}

DropoutMerger::Result& DropoutMerger::result_of(std::uint64_t low, std::uint64_t high, std::uint32_t gaps) {
  const std::uint64_t hash = fold(low ^ 0xA0761D6478BD642F, high ^ (gaps * kRandomStep));
  return results_[hash >> (64 - std::countr_zero(kResults))];
}

std::size_t DropoutMerger::merge_remembered(std::uint64_t low, std::uint64_t high, const Byte* word, std::size_t length,
                                            const WordDraws& draws, std::uint32_t* out) {
  if (results_.empty()) results_.resize(kResults);
  std::uint32_t gaps = 0;
  std::size_t gap = draws.gap(0);
  for (std::size_t number = 0; number < kMaxGaps && gap < Dropout::kLimits; ++number) {
    gaps |= static_cast<std::uint32_t>(gap + 1) << (8 * number);
    const Result& result = result_of(low, high, gaps);
    if (result.gaps != gaps || result.low != low || result.high != high) break;
    gap = draws.gap(number + 1);
    if (gap < result.rest) continue;
    for (std::size_t i = 0; i < kMaxIds; ++i) out[i] = result.ids[i];
    return result.size;
  }
  Skips skips(draws);
  const std::size_t size = merge_short(word, length, skips, out);
  if (size > kMaxIds || skips.number() == 0 || skips.number() > kMaxGaps) return size;
  gaps = 0;
  for (std::size_t number = 0; number < skips.number(); ++number) {
    gap = draws.gap(number);
    if (gap == Dropout::kLimits) return size;
    gaps |= static_cast<std::uint32_t>(gap + 1) << (8 * number);
  }
  Result& result = result_of(low, high, gaps);
  result = {low, high, gaps, static_cast<std::uint8_t>(skips.kept()), static_cast<std::uint8_t>(size), {}};
  std::copy_n(out, size, result.ids);
  return size;
}

// A pair is its rank and place in one number, so the least is the next candidate. Skipped ones are set aside until one
// is kept. Symbols stay at the place of their first byte; a mask marks places with a symbol.
std::size_t DropoutMerger::merge_short(const Byte* word, std::size_t length, Skips& skips, std::uint32_t* out) const {
  std::uint32_t symbols[64], pairs[64], aside[64];
  const auto pair_of = [](Rank rank, std::size_t place) {
    return rank == Vocabulary::kNoMerge ? kNoPair : rank << kPlaceBits | static_cast<std::uint32_t>(place);
  };
  const auto look_up = [&](std::size_t left, std::size_t right) {
    return pair_of(vocabulary_.rank(symbols[left], symbols[right]), left);
  };
  std::size_t count = 0;
  for (; count < length; ++count) {
    symbols[count] = word[count];
    const bool has_next = count + 1 < length;
    pairs[count] = has_next ? pair_of(vocabulary_.rank_of_bytes(word + count), count) : kNoPair;
  }
  for (; count % 8 != 0; ++count) pairs[count] = kNoPair;
  std::uint64_t places = (std::uint64_t{1} << length) - 1;
  for (;;) {
    std::uint64_t skipped = 0;
    std::uint32_t least;
    while ((least = min_of(pairs, count)) != kNoPair && skips()) {
      const std::uint32_t at = least % (1 << kPlaceBits);
      skipped |= std::uint64_t{1} << at;
      aside[at] = least;
      pairs[at] = kNoPair;
    }
    if (least == kNoPair) break;
    for (; skipped != 0; skipped &= skipped - 1) {
      const auto at = std::countr_zero(skipped);
      pairs[at] = aside[at];
    }
    const std::uint32_t at = least % (1 << kPlaceBits);
    const std::uint64_t rest = places & (~std::uint64_t{1} << at), after = rest & (rest - 1);
    const std::uint64_t before = places & ~(~std::uint64_t{0} << at);
    symbols[at] = vocabulary_.result(least >> kPlaceBits);
    places ^= rest ^ after;
    pairs[std::countr_zero(rest)] = kNoPair;
    pairs[at] = after == 0 ? kNoPair : look_up(at, static_cast<std::size_t>(std::countr_zero(after)));
    if (before != 0) {
      const auto left = static_cast<std::size_t>(63 - std::countl_zero(before));
      pairs[left] = look_up(left, at);
    }
  }
  std::size_t size = 0;
  for (; places != 0; places &= places - 1) out[size++] = vocabulary_.id(symbols[std::countr_zero(places)]);
  return size;
}

// As Merger::merge_by_heap; candidates that are skipped return to the heap when one is kept.
std::size_t DropoutMerger::merge_by_heap(const Byte* word, std::size_t length, Skips& skips, std::uint32_t* out,
                                         const PollFunction& poll) const {
  constexpr Symbol kDropped = 0xFFFFFFFF;
  if (length >= kDropped) throw std::length_error("a pre-token of 2**32 bytes or more");
  const auto end = static_cast<std::uint32_t>(length);
  std::vector<Symbol> symbols(word, word + length);
  struct Links {
    std::uint32_t before, next;
  };
  std::vector<Links> links(length);
  std::vector<std::uint64_t> heap, skipped;
  const auto is_later = [](std::uint64_t a, std::uint64_t b) { return a > b; };
  const auto put = [&](std::uint64_t candidate) {
    heap.push_back(candidate);
    std::push_heap(heap.begin(), heap.end(), is_later);
  };
  const auto look_up = [&](std::uint32_t left, std::uint32_t right) {
    const Rank rank = vocabulary_.rank(symbols[left], symbols[right]);
    if (rank != Vocabulary::kNoMerge) put(std::uint64_t{rank} << 32 | left);
  };
  PollInLoop polls(poll);
  for (std::uint32_t i = 0; i < end; ++i) {
    polls();
    links[i] = {i - 1, i + 1};
    const Rank rank = i + 1 < end ? vocabulary_.rank_of_bytes(word + i) : Vocabulary::kNoMerge;
    if (rank != Vocabulary::kNoMerge) heap.push_back(std::uint64_t{rank} << 32 | i);
  }
  std::make_heap(heap.begin(), heap.end(), is_later);
  while (!heap.empty()) {
    polls();
    const std::uint64_t candidate = heap.front();
    std::pop_heap(heap.begin(), heap.end(), is_later);
    heap.pop_back();
    const auto rank = static_cast<Rank>(candidate >> 32);
    const auto left = static_cast<std::uint32_t>(candidate);
    if (symbols[left] == kDropped) continue;
    const std::uint32_t right = links[left].next;
    if (right == end || vocabulary_.rank(symbols[left], symbols[right]) != rank) continue;
    if (skips()) {
      skipped.push_back(candidate);
      continue;
    }
    for (const std::uint64_t each : skipped) put(each);
    skipped.clear();
    symbols[left] = vocabulary_.result(rank);
    symbols[right] = kDropped;
    const std::uint32_t after = links[left].next = links[right].next;
    if (after != end) {
      links[after].before = left;
      look_up(left, after);
    }
    if (left != 0) look_up(links[left].before, left);
  }
  std::size_t size = 0;
  for (const Symbol symbol : symbols) {
    if (symbol != kDropped) out[size++] = vocabulary_.id(symbol);
  }
  return size;
}

}  // namespace hf_bpe
