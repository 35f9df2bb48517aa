// The ranks of merges in 4 bytes a slot, for models that are too large for SmallRanks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "support/hashing.hpp"
#include "support/pages.hpp"

namespace hf_bpe {

// A slot holds a rank and, in the bits that are left, a part of its pair's hash. So what is found may be the rank of
// another pair, but never a higher rank than that of the pair itself: `is_rank_of` decides. The slots of a line of
// memory are compared all at once, and a pair is in the next line only if its own is full.
class CompactRanks {
 public:
  using Merges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

  // Takes distinct merges by rank, fewer than 2**22, which must outlive this. A rank takes at least `rank_bits` of the 32
  // bits: tests leave few for hashes.
  explicit CompactRanks(const Merges& merges, int rank_bits = 1)
      : merges_(merges.data()),
        size_(static_cast<std::uint32_t>(merges.size())),
        ranks_(~std::uint32_t{0} >> (32 - std::max(rank_bits, static_cast<int>(std::bit_width(size_ | 1))))),
        used_(static_cast<std::uint32_t>(merges.size() / (kSlots / 2) + 1)),
        lines_(used_ + 1) {
    std::random_device device;
    multiplier_ = std::uint64_t{device()} << 32 | device() | 1;
    for (std::size_t i = 0; i < lines_.size(); ++i) std::fill_n(lines_[i].slots, kSlots, kEmpty);
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
      const Key key = key_of(merges[rank].first, merges[rank].second);
      std::size_t line = key.line;
      while (lines_[line].slots[kSlots - 1] != kEmpty) line = after(line);
      std::uint32_t* slot = lines_[line].slots;
      while (*slot != kEmpty) ++slot;
      *slot = key.hash | rank;
    }
  }

  // What a pair is found by.
  struct Key {
    std::uint32_t line, hash;
  };
  Key key_of(std::uint32_t first, std::uint32_t second) const {
    const std::uint64_t hash = fold(std::uint64_t{first} << 32 | second, multiplier_);
    return {static_cast<std::uint32_t>((hash >> 32) * used_ >> 32), static_cast<std::uint32_t>(hash) & ~ranks_};
  }
  // What finds nothing, not even another pair's rank.
  Key key_of_none() const { return {used_, 0}; }
  void prefetch(Key key) const { hf_bpe::prefetch(&lines_[key.line]); }

  // A rank that may be the pair's, `none` if it has none. `least` returns the least of the kSlots slots after it has
  // inverted the bits of the hash in each.
  template <class Least>
  std::uint32_t find(Key key, std::uint32_t none, Least least) const {
    std::uint32_t found = none;
    for (std::size_t at = key.line;; at = after(at)) {
      const std::uint32_t* slots = lines_[at].slots;
      const std::uint32_t rank = least(slots, key.hash);
      found = rank < size_ ? std::min(rank, found) : found;
      if (slots[kSlots - 1] == kEmpty) return found;
    }
  }
  bool is_rank_of(std::uint32_t rank, std::uint32_t first, std::uint32_t second) const {
    return merges_[rank].first == first && merges_[rank].second == second;
  }
  void prefetch_merge(std::uint32_t rank) const { hf_bpe::prefetch(&merges_[rank]); }

  static constexpr std::size_t kSlots = 16;  // of a line

 private:
  static constexpr std::uint32_t kEmpty = ~std::uint32_t{0};  // no rank is so high

  struct alignas(kSlots * 4) Line {
    std::uint32_t slots[kSlots];
  };

  std::size_t after(std::size_t line) const { return line + 1 == used_ ? 0 : line + 1; }

  const std::pair<std::uint32_t, std::uint32_t>* merges_;
  std::uint32_t size_;
  std::uint32_t ranks_;       // the bits of a slot that hold its rank
  std::uint32_t used_;        // lines, half full
  Pages<Line> lines_;         // and an empty one
  std::uint64_t multiplier_;  // random, so that no merges can be chosen to collide
};

}  // namespace hf_bpe
