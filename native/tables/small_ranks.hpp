// The ranks of merges in 640 kB, or 1.1 MB for the largest models that fit: fewer than 2**16 symbols and merges.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/pages.hpp"
#include "text/unicode.hpp"

namespace hf_bpe {

// The place of a pair of bytes in a table of all pairs. The processor reads both at once.
inline std::size_t place_of_bytes(const Byte* pair) {
  std::uint16_t place;
  std::memcpy(&place, pair, sizeof place);
  return place;
}

// Each pair has two slots and takes one of them (Pagh and Rodler, "Cuckoo Hashing", 2001). A hash is a permutation of
// all pairs, and a slot stores what its own number does not tell of it. So results are exact, without any branch.
class SmallRanks {
 public:
  static constexpr bool kAreExact = true;
  static constexpr unsigned kFirstBits = 16;      // of a symbol; the highest merges with nothing
  static constexpr std::uint32_t kNone = 0xFFFF;  // ranks are lower

  using Merges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

  // Takes merges by rank. There is no such table of too many symbols or merges. Throws std::invalid_argument if a merge
  // is given twice.
  static std::optional<SmallRanks> make(const Merges& merges, std::size_t symbols) {
    if (symbols > kNone || merges.size() > kNone) return std::nullopt;
    SmallRanks ranks(merges.size());
    std::random_device device;
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      for (std::uint32_t& multiplier : ranks.multipliers_) multiplier = device() | 1;
      if (ranks.fill(merges)) return ranks;
    }
    return std::nullopt;
  }

  std::uint32_t rank_of_bytes(const Byte* pair) const { return bytes_[place_of_bytes(pair)]; }

  // What a pair is found by.
  struct Key {
    std::uint32_t hashes[2];
  };
  Key key_of(std::uint32_t first, std::uint32_t second) const {
    std::uint32_t pair = (first << 16 | second) * multipliers_[0];
    pair ^= pair >> 15;
    return {{pair * multipliers_[1], pair * multipliers_[2]}};
  }
  Key key_of_none() const { return key_of(kNone, kNone); }
  void prefetch(Key key) const {
    for (std::size_t which : {0, 1}) hf_bpe::prefetch(&slots_[slot_of(which, key.hashes[which])]);
  }
  // The rank of a pair, kNone if it has none.
  std::uint32_t find(Key key) const {
    std::uint32_t ranks[2];
    for (std::size_t which : {0, 1}) {
      const std::uint32_t slot = slots_[slot_of(which, key.hashes[which])];
      ranks[which] = slot >> 16 == (key.hashes[which] & 0xFFFF) ? slot & 0xFFFF : kNone;
    }
    return std::min(ranks[0], ranks[1]);
  }

 private:
  static constexpr std::uint32_t kEmpty = kNone;       // whatever hash is compared with it, the rank is kNone
  static constexpr std::size_t kMaxIn16Bits = 57'000;  // merges: half full is too full
  static constexpr int kMaxAttempts = 16;
  static constexpr int kMaxMoves = 500;

  explicit SmallRanks(std::size_t merges) : slot_bits_(merges <= kMaxIn16Bits ? 16 : 17) {}

  std::size_t slot_of(std::size_t which, std::uint32_t hash) const {
    return which << slot_bits_ | hash >> (32 - slot_bits_);
  }

  bool fill(const Merges& merges) {
    slots_.assign(std::size_t{2} << slot_bits_, kEmpty);
    bytes_.assign(std::size_t{1} << 16, kNone);
    for (std::uint32_t rank = 0; rank < merges.size(); ++rank) {
      const auto [first, second] = merges[rank];
      if (find(key_of(first, second)) != kNone) throw std::invalid_argument("a merge is given twice");
      if (first < 256 && second < 256) bytes_[second << 8 | first] = static_cast<std::uint16_t>(rank);
      std::uint32_t moved = rank;
      unsigned which = 0;
      for (int moves = 0; moved != kNone; which ^= 1, ++moves) {
        if (moves == kMaxMoves) return false;
        const std::uint32_t key = key_of(merges[moved].first, merges[moved].second).hashes[which];
        moved = std::exchange(slots_[slot_of(which, key)], key << 16 | moved) & 0xFFFF;
      }
    }
    return true;
  }

  unsigned slot_bits_;
  std::uint32_t multipliers_[3];  // random, so that no merges can be chosen to collide
  std::vector<std::uint32_t> slots_;
  std::vector<std::uint16_t> bytes_;  // the ranks of all pairs of bytes
};

}  // namespace hf_bpe
