// A map from pairs of numbers to a number, in 64 bits per entry: written once, read often, and small enough for caches.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace hf_bpe {

// For pairs and values of these numbers of bits.
template <unsigned kFirst, unsigned kSecond, unsigned kValue>
class PackedTable {
  static_assert(kFirst + kSecond + kValue <= 64);

 public:
  static constexpr unsigned kFirstBits = kFirst;
  static constexpr std::uint32_t kNone = (std::uint32_t{1} << kValue) - 1;  // values are lower

  // For at most `size` pairs.
  explicit PackedTable(std::size_t size)
      : buckets_(std::bit_ceil(size * 2 / kBucket + 2)),
        shift_(64 - static_cast<unsigned>(std::countr_zero(buckets_.size()))) {
    std::random_device device;
    multiplier_ = std::uint64_t{device()} << 32 | device() | 1;
  }

  // The pair must be new.
  void insert(std::uint32_t first, std::uint32_t second, std::uint32_t value) {
    const std::uint64_t key = key_of(first, second);
    for (std::size_t at = bucket_of(key);; at = (at + 1) & (buckets_.size() - 1)) {
      for (std::uint64_t& entry : buckets_[at].entries) {
        if (entry != kEmpty) continue;
        entry = key << kValue | value;
        return;
      }
    }
  }

  // The value of a pair, kNone if it has none. Presence is unpredictable, so there is no branch on it.
  std::uint32_t find(std::uint32_t first, std::uint32_t second) const {
    const std::uint64_t key = key_of(first, second);
    for (std::size_t at = bucket_of(key);; at = (at + 1) & (buckets_.size() - 1)) {
      const Bucket& bucket = buckets_[at];
      std::uint32_t value = kNone;
      for (const std::uint64_t entry : bucket.entries) {
        value = entry >> kValue == key ? static_cast<std::uint32_t>(entry) & kNone : value;
      }
      if (value != kNone || bucket.entries[kBucket - 1] == kEmpty) return value;
    }
  }

  // Where the search for a pair begins.
  std::size_t bucket_of(std::uint32_t first, std::uint32_t second) const { return bucket_of(key_of(first, second)); }

 private:
  static constexpr std::size_t kBucket = 4;  // entries
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

  struct alignas(kBucket * 8) Bucket {
    std::uint64_t entries[kBucket] = {kEmpty, kEmpty, kEmpty, kEmpty};
  };

  static std::uint64_t key_of(std::uint32_t first, std::uint32_t second) {
    return std::uint64_t{first} << kSecond | second;
  }
  std::size_t bucket_of(std::uint64_t key) const { return key * multiplier_ >> shift_; }

  std::vector<Bucket> buckets_;  // a power of two, at most half full
  unsigned shift_;               // the first bits of the hash are the bucket
  std::uint64_t multiplier_;     // random, so that no merges can be chosen to collide
};

}  // namespace hf_bpe
