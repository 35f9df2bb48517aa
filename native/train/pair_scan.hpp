// Passes over all pairs of neighbors in a token array whose tokens have one slot each. Every pass is shared out to
// threads, each of which takes one part of the positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/pages.hpp"
#include "support/poll.hpp"
#include "tables/pair_table.hpp"
#include "train/pair_filter.hpp"
#include "train/sharing.hpp"
#include "train/token_array.hpp"

namespace hf_bpe {

// A pair in a part of an array.
struct PairCount {
  Symbol first, second;
  std::uint64_t count;
  std::uint32_t size;  // number of positions
};
using PairCounts = PagedVector<PairCount>;

class PairScan {
 public:
  // `words` and `poll` must outlive it.
  PairScan(const TokenArray& words, const Sharing& sharing, const PollFunction& poll)
      : words_(words), poll_(poll), pairs_(words.size > 2 ? words.size - 2 : 0), parts_(sharing.parts_of(pairs_)) {}

  // Estimates of counts, because exact counts of all pairs need a table that is far larger than any cache: the pairs of
  // a bucket are counted together, so none of them is more frequent.
  Pages<std::uint64_t> estimate_counts() const;
  // The peak memory of that.
  static std::uint64_t bytes_of_estimates(std::size_t slots, const Sharing& sharing);

  // The pairs that pass the filter, about as many as `expected`: for each part the distinct ones in it.
  std::vector<PairCounts> count(const PairFilter& filter, std::size_t expected) const;

  // Writes the positions of the pairs in `numbers`, which pass the filter: those of pair `number` in a part in
  // ascending order, beginning at `places[next[part][number]]`, which it advances.
  void collect(const PairFilter& filter, const PairTable& numbers, std::vector<PagedVector<std::size_t>>& next,
               PagedVector<Position>& places) const;

 private:
  template <class Prepare, class Visit>
  void for_each_likely_pair(std::size_t part, const PairFilter& filter, const PairTable& numbers, Prepare prepare,
                            Visit visit, const PollFunction& poll) const;

  // The first position of a part, or the end of the one before it.
  std::size_t begin_of(std::size_t part, std::size_t parts) const { return 1 + pairs_ * part / parts; }

  const TokenArray& words_;
  const PollFunction& poll_;
  const std::size_t pairs_;  // including boundaries
  const std::size_t parts_;
};

}  // namespace hf_bpe
