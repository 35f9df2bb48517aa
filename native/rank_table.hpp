// The ranks of merges by their pairs of symbols: written once, read often, and small enough for caches.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hf_bpe {

class RankTable {
 public:
  // A pair and its rank are 64 bits.
  static constexpr unsigned kSymbolBits = 21;
  static constexpr unsigned kRankBits = 22;
  static constexpr std::uint32_t kNone = (std::uint32_t{1} << kRankBits) - 1;

  // Of `size` pairs at most.
  explicit RankTable(std::size_t size)
      : buckets_(std::bit_ceil(size * 2 / kBucket + 2)),
        shift_(64 - static_cast<unsigned>(std::countr_zero(buckets_.size()))) {}

  // The pair must be new.
  void insert(std::uint32_t first, std::uint32_t second, std::uint32_t rank) {
    const std::uint64_t key = key_of(first, second);
    for (std::size_t at = bucket_of(key);; at = (at + 1) & (buckets_.size() - 1)) {
      for (std::uint64_t& entry : buckets_[at].entries) {
        if (entry != kEmpty) continue;
        entry = key << kRankBits | rank;
        return;
      }
    }
  }

  // The rank of a pair, kNone if it has none. Whether it has is hard to foretell, so there is no branch on it.
  std::uint32_t find(std::uint32_t first, std::uint32_t second) const {
    const std::uint64_t key = key_of(first, second);
    for (std::size_t at = bucket_of(key);; at = (at + 1) & (buckets_.size() - 1)) {
      const Bucket& bucket = buckets_[at];
      std::uint32_t rank = kNone;
      for (const std::uint64_t entry : bucket.entries) {
        rank = entry >> kRankBits == key ? static_cast<std::uint32_t>(entry) & kNone : rank;
      }
      if (rank != kNone || bucket.entries[kBucket - 1] == kEmpty) return rank;
    }
  }

 private:
  static constexpr std::size_t kBucket = 4;  // entries
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

  struct alignas(kBucket * 8) Bucket {
    std::uint64_t entries[kBucket] = {kEmpty, kEmpty, kEmpty, kEmpty};
  };

  static std::uint64_t key_of(std::uint32_t first, std::uint32_t second) {
    return std::uint64_t{first} << kSymbolBits | second;
  }
  std::size_t bucket_of(std::uint64_t key) const { return key * 0x9E3779B97F4A7C15 >> shift_; }

  std::vector<Bucket> buckets_;  // a power of two of them, half full at most
  unsigned shift_;               // the first bits of the hash are the bucket
};

}  // namespace hf_bpe
