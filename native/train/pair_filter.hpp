// One bit for each bucket of pairs: whether it may hold a frequent one. The bits stay in a cache where the counts, or
// the table of the frequent pairs, would not; so nearly all rare pairs are passed over without a wait for memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/pages.hpp"
#include "tables/pair_table.hpp"

namespace hf_bpe {

class PairFilter {
 public:
  // Lets no pair pass until it is added. `buckets` is a power of two, 64 or more.
  explicit PairFilter(std::size_t buckets) : words_(buckets / kBits) {}

  // Lets the pairs pass whose bucket, of a power of two, 64 or more, reaches `least`.
  PairFilter(const Pages<std::uint64_t>& counts, std::uint64_t least) : PairFilter(counts.size()) {
    for (std::size_t bucket = 0; bucket < counts.size(); ++bucket) {
      words_[bucket / kBits] |= std::uint64_t{counts[bucket] >= least} << bucket % kBits;
    }
  }

  void add(Symbol first, Symbol second) {
    const std::size_t bucket = bucket_of(first, second);
    words_[bucket / kBits] |= std::uint64_t{1} << bucket % kBits;
  }

  // False only for pairs that were not added.
  bool may_hold(Symbol first, Symbol second) const {
    const std::size_t bucket = bucket_of(first, second);
    return words_[bucket / kBits] >> bucket % kBits & 1;
  }

 private:
  static constexpr std::size_t kBits = 64;

  std::size_t bucket_of(Symbol first, Symbol second) const {
    return hash_pair(first, second) & (words_.size() * kBits - 1);
  }

  Pages<std::uint64_t> words_;
};

}  // namespace hf_bpe
