// The ranks of merges in 4 bytes a slot, for models that are too large for SmallRanks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/hashing.hpp"
#include "support/pages.hpp"
#include "tables/small_ranks.hpp"

namespace hf_bpe {

// A slot holds a rank and, in the bits that are left, a part of its pair's hash. So what is found may be the rank of
// another pair, but never a higher rank than that of the pair itself: `result` decides. The slots of a line of
// memory are compared all at once, and a pair is in the next line only if its own is full.
class CompactRanks {
 public:
  static constexpr unsigned kFirstBits = 21;  // of a symbol; the highest merges with nothing
  static constexpr std::uint32_t kNoSymbol = (std::uint32_t{1} << kFirstBits) - 1;
  static constexpr std::uint32_t kNone = (std::uint32_t{1} << 22) - 1;  // ranks are lower

  using Merges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

  // Takes merges by rank and their results, at most kNone. Throws std::invalid_argument if a merge is given twice. A
  // rank takes at least `rank_bits` of the 32 bits: tests leave few for hashes.
  CompactRanks(const Merges& merges, const std::vector<std::uint32_t>& results, int rank_bits = 1)
      : size_(static_cast<std::uint32_t>(merges.size())),
        ranks_(~std::uint32_t{0} >> (32 - std::max(rank_bits, static_cast<int>(std::bit_width(size_ | 1))))),
        used_(static_cast<std::uint32_t>(merges.size() / (kSlots / 2) + 1)),
        lines_(used_ + 1),
        bytes_(std::size_t{1} << 16, kNone) {
    std::random_device device;
    multiplier_ = std::uint64_t{device()} << 32 | device() | 1;
    for (std::size_t i = 0; i < lines_.size(); ++i) std::fill_n(lines_[i].slots, kSlots, kEmpty);
    merges_.reserve(size_);
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
      merges_.push_back(pair_of(merges[rank].first, merges[rank].second) << kFirstBits | results[rank]);
    }
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
      constexpr std::uint32_t kAhead = 16;
      if (rank + kAhead < size_) prefetch(key_of(merges[rank + kAhead].first, merges[rank + kAhead].second));
      const auto [first, second] = merges[rank];
      const Place place = look_up(first, second);
      if (place.rank != kNone) throw std::invalid_argument("a merge is given twice");
      lines_[place.line].slots[place.slot] = key_of(first, second).hash | rank;
      if (first < 256 && second < 256) bytes_[second << 8 | first] = rank;
    }
  }

  std::uint32_t rank_of_bytes(const Byte* pair) const { return bytes_[place_of_bytes(pair)]; }

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

  // A rank that may be the pair's, kNone if it has none. `least` returns the least of the kSlots slots after it has
  // inverted the bits of the hash in each.
  template <class Least>
  std::uint32_t find(Key key, Least least) const {
    std::uint32_t found = kNone;
    for (std::size_t at = key.line;; at = after(at)) {
      const std::uint32_t* slots = lines_[at].slots;
      const std::uint32_t rank = least(slots, key.hash);
      found = rank < size_ ? std::min(rank, found) : found;
      if (slots[kSlots - 1] == kEmpty) return found;
    }
  }
  // The result of the merge of a rank, kNoSymbol if it is not that of the pair.
  std::uint32_t result(std::uint32_t rank, std::uint32_t first, std::uint32_t second) const {
    const std::uint64_t merge = merges_[rank];
    return merge >> kFirstBits == pair_of(first, second) ? static_cast<std::uint32_t>(merge) & kNoSymbol : kNoSymbol;
  }
  void prefetch_merge(std::uint32_t rank) const { hf_bpe::prefetch(&merges_[rank]); }

  // The rank of a pair, kNone if it has none.
  std::uint32_t find_exact(std::uint32_t first, std::uint32_t second) const { return look_up(first, second).rank; }

  static constexpr std::size_t kSlots = 16;  // of a line

 private:
  static constexpr std::uint32_t kEmpty = ~std::uint32_t{0};  // no rank is so high

  struct alignas(kSlots * 4) Line {
    std::uint32_t slots[kSlots];
  };

  std::size_t after(std::size_t line) const { return line + 1 == used_ ? 0 : line + 1; }

  // The rank of a pair and its place; kNone and the place where it belongs.
  struct Place {
    std::uint32_t rank;
    std::size_t line, slot;
  };
  Place look_up(std::uint32_t first, std::uint32_t second) const {
    const Key key = key_of(first, second);
    for (std::size_t at = key.line;; at = after(at)) {
      for (std::size_t i = 0; i < kSlots; ++i) {
        const std::uint32_t slot = lines_[at].slots[i], rank = slot ^ key.hash;
        if (slot == kEmpty) return {kNone, at, i};
        if (rank < size_ && result(rank, first, second) != kNoSymbol) return {rank, at, i};
      }
    }
  }

  static std::uint64_t pair_of(std::uint32_t first, std::uint32_t second) {
    return std::uint64_t{first} << kFirstBits | second;
  }

  std::uint32_t size_;
  std::uint32_t ranks_;                // the bits of a slot that hold its rank
  std::uint32_t used_;                 // lines, half full
  Pages<Line> lines_;                  // and an empty one
  std::vector<std::uint64_t> merges_;  // by rank: both parts and the result
  std::uint64_t multiplier_;           // random, so that no merges can be chosen to collide
  std::vector<std::uint32_t> bytes_;   // the ranks of all pairs of bytes
};

}  // namespace hf_bpe
