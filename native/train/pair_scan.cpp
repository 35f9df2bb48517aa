#include "train/pair_scan.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace hf_bpe {
namespace {

// More estimates are more exact, but fit in caches less well. Many slots have many different pairs, and with fewer
// estimates even the rare ones would seem frequent.
std::size_t number_of_estimates(std::size_t slots) {
  const std::size_t most = slots < std::size_t{1} << 24 ? 1 << 19 : std::max<std::size_t>(1 << 20, slots / 16);
  return std::bit_ceil(std::clamp<std::size_t>(slots / 2, 1 << 12, most));
}

// Each part has estimates of its own, so they may not take much more memory than the slots.
std::size_t parts_to_estimate(std::size_t slots, std::size_t parts) {
  const std::size_t most = std::max(slots / 2, std::size_t{1} << 20) / number_of_estimates(slots);
  return std::clamp<std::size_t>(most, 1, parts);
}

}  // namespace

std::uint64_t PairScan::bytes_of_estimates(std::size_t slots, const Sharing& sharing) {
  const std::size_t copies = parts_to_estimate(slots, sharing.parts_of(slots)) + 1;  // one to choose a threshold by
  return copies * number_of_estimates(slots) * sizeof(std::uint64_t);
}

Pages<std::uint64_t> PairScan::estimate_counts() const {
  constexpr std::size_t kAhead = 16;
  const std::size_t parts = parts_to_estimate(words_.size, parts_);
  std::vector<Pages<std::uint64_t>> estimates(parts);
  const Symbol* slots = words_.slots.data();
  for_each_part(parts, poll_, [&](std::size_t part, const PollFunction& poll) {
    Pages<std::uint64_t> counts(number_of_estimates(words_.size));
    const std::size_t mask = counts.size() - 1;
    PollInLoop polls(poll);
    const std::size_t end = begin_of(part + 1, parts);
    for (std::size_t at = begin_of(part, parts); at < end; ++at) {
      polls();
      if (at + kAhead < end) prefetch(&counts[hash_pair(slots[at + kAhead], slots[at + kAhead + 1]) & mask]);
      if (!TokenArray::are_tokens(slots[at], slots[at + 1])) continue;
      counts[hash_pair(slots[at], slots[at + 1]) & mask] += words_.count_at(at);
    }
    estimates[part] = std::move(counts);
  });
  for_each_part(parts, poll_, [&](std::size_t part, const PollFunction&) {
    const std::size_t size = estimates[0].size();
    for (std::size_t other = 1; other < parts; ++other) {
      const Pages<std::uint64_t>& more = estimates[other];
      for (std::size_t i = size * part / parts; i < size * (part + 1) / parts; ++i) estimates[0][i] += more[i];
    }
  });
  return std::move(estimates[0]);
}

// Visits the positions of pairs that pass the filter in ascending order. Works in batches, so that many entries of each
// table are read at once: `prepare` is called for each position of a batch, then `visit` with what it returned.
template <class Prepare, class Visit>
void PairScan::for_each_likely_pair(std::size_t part, const PairFilter& filter, const PairTable& numbers,
                                    Prepare prepare, Visit visit, const PollFunction& poll) const {
  constexpr std::size_t kBatch = 64;
  std::array<Position, kBatch> batch;
  std::array<std::uint32_t, kBatch> pairs;
  std::size_t batched = 0;
  const Symbol* slots = words_.slots.data();
  const auto flush = [&] {
    for (std::size_t i = 0; i < batched; ++i) numbers.prefetch(slots[batch[i]], slots[batch[i] + 1]);
    for (std::size_t i = 0; i < batched; ++i) pairs[i] = prepare(slots[batch[i]], slots[batch[i] + 1]);
    for (std::size_t i = 0; i < batched; ++i) visit(pairs[i], batch[i]);
    batched = 0;
  };
  PollInLoop polls(poll);
  const std::size_t end = begin_of(part + 1, parts_);
  for (std::size_t at = begin_of(part, parts_); at < end; ++at) {
    polls();
    batch[batched] = static_cast<Position>(at);
    // Without a branch, which would be unpredictable.
    const std::size_t may_hold = filter.may_hold(slots[at], slots[at + 1]);
    const std::size_t are_tokens = TokenArray::are_tokens(slots[at], slots[at + 1]);
    batched += may_hold & are_tokens;
    if (batched == kBatch) flush();
  }
  flush();
}

std::vector<PairCounts> PairScan::count(const PairFilter& filter, std::size_t expected) const {
  std::vector<PairCounts> counts(parts_);
  for_each_part(parts_, poll_, [&](std::size_t part, const PollFunction& poll) {
    PairTable numbers;
    numbers.reset(expected);
    PairCounts& pairs = counts[part];
    const auto insert = [&](Symbol first, Symbol second) {
      const auto next = static_cast<std::uint32_t>(pairs.size());
      const std::uint32_t pair = numbers.insert(first, second, next);
      if (pair == next) pairs.push_back({first, second, 0, 0});
      prefetch(&pairs[pair]);
      return pair;
    };
    const auto add = [&](std::uint32_t pair, Position position) {
      pairs[pair].count += words_.count_at(position);
      ++pairs[pair].size;
    };
    for_each_likely_pair(part, filter, numbers, insert, add, poll);
  });
  return counts;
}

void PairScan::collect(const PairFilter& filter, const PairTable& numbers, std::vector<PagedVector<std::size_t>>& next,
                       PagedVector<Position>& places) const {
  for_each_part(parts_, poll_, [&](std::size_t part, const PollFunction& poll) {
    PagedVector<std::size_t>& next_of = next[part];
    const auto find = [&](Symbol first, Symbol second) {
      const std::uint32_t pair = numbers.find(first, second);
      if (pair != PairTable::kNone) prefetch(&next_of[pair]);
      return pair;
    };
    const auto note = [&](std::uint32_t pair, Position position) {
      if (pair != PairTable::kNone) places[next_of[pair]++] = position;
    };
    for_each_likely_pair(part, filter, numbers, find, note, poll);
  });
}

}  // namespace hf_bpe
