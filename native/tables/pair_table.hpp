// A map from pairs of symbols to numbers: open addressing, without removal.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "support/hashing.hpp"
#include "support/pages.hpp"
#include "tables/symbols.hpp"

namespace hf_bpe {

// Symbols come from the training, not from untrusted input, so a fixed multiplier is enough.
inline std::uint64_t hash_pair(Symbol first, Symbol second) {
  return fold(std::uint64_t{first} << 32 | second, 0x9E3779B97F4A7C15);
}

class PairTable {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  // Empties the table and makes room for about `size` pairs.
  void reset(std::size_t size) {
    entries_ = PagedVector<Entry>();  // first, to free its memory
    entries_.resize(std::bit_ceil(std::max<std::size_t>(size * 4, 1 << 10)));
    size_ = 0;
  }

  // The number of the pair, kNone if it has none.
  std::uint32_t find(Symbol first, Symbol second) const { return entries_[find_slot(first, second)].number; }

  // The number of the pair, which is set to `number` if it has none.
  std::uint32_t insert(Symbol first, Symbol second, std::uint32_t number) {
    Entry& entry = entries_[find_slot(first, second)];
    if (entry.number != kNone) return entry.number;
    entry = {first, second, number};
    if (++size_ > entries_.size() / 2) grow();
    return number;
  }

  void prefetch(Symbol first, Symbol second) const { hf_bpe::prefetch(&entries_[slot_of(first, second)]); }

 private:
  struct Entry {
    Symbol first = 0, second = 0;
    std::uint32_t number = kNone;
  };

  std::size_t slot_of(Symbol first, Symbol second) const { return hash_pair(first, second) & (entries_.size() - 1); }

  // The slot that holds the pair, or the empty one where it belongs.
  std::size_t find_slot(Symbol first, Symbol second) const {
    std::size_t slot = slot_of(first, second);
    while (entries_[slot].number != kNone && (entries_[slot].first != first || entries_[slot].second != second)) {
      slot = (slot + 1) & (entries_.size() - 1);
    }
    return slot;
  }

  void grow() {
    const PagedVector<Entry> old = std::exchange(entries_, PagedVector<Entry>(entries_.size() * 2));
    for (const Entry& entry : old) {
      if (entry.number != kNone) entries_[find_slot(entry.first, entry.second)] = entry;
    }
  }

  PagedVector<Entry> entries_{1};
  std::size_t size_ = 0;
};

}  // namespace hf_bpe
