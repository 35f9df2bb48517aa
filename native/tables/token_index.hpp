// An index of tokens by their bytes: a hash table over a list that outlives it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

#include "support/hashing.hpp"

namespace hf_bpe {

class TokenIndex {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  explicit TokenIndex(const std::vector<std::string_view>& tokens)
      : tokens_(tokens),
        slots_(std::bit_ceil(tokens.size() * 2 + 2)),
        shift_(64 - static_cast<unsigned>(std::countr_zero(slots_.size()))) {
    std::random_device device;
    for (std::uint64_t& seed : seeds_) seed = std::uint64_t{device()} << 32 | device() | 1;
    for (std::uint32_t number = 0; number < tokens.size(); ++number) {
      const std::uint64_t hash = hash_of(tokens[number]);
      Slot& slot = slots_[slot_of(tokens[number], hash)];
      if (slot.number == kNone) slot = {static_cast<std::uint32_t>(hash), number};
    }
  }

  // The position of a token in the list, the first of equal ones; kNone if it is not there.
  std::uint32_t find(std::string_view token) const { return slots_[slot_of(token, hash_of(token))].number; }

 private:
  struct Slot {
    std::uint32_t hash, number = kNone;
  };

  std::size_t slot_of(std::string_view token, std::uint64_t hash) const {
    for (std::size_t slot = hash >> shift_;; slot = (slot + 1) & (slots_.size() - 1)) {
      const auto [its_hash, number] = slots_[slot];
      if (number == kNone || (its_hash == static_cast<std::uint32_t>(hash) && tokens_[number] == token)) return slot;
    }
  }
  std::uint64_t hash_of(std::string_view token) const {
    std::uint64_t hash = fold(token.size() ^ seeds_[0], seeds_[1]);
    std::size_t at = 0;
    for (; token.size() - at >= 8; at += 8) hash = mixed(hash, token.data() + at, 8);
    return mixed(hash, token.data() + at, token.size() - at);
  }
  std::uint64_t mixed(std::uint64_t hash, const char* bytes, std::size_t size) const {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes, size);
    return fold(value ^ hash, seeds_[1]);
  }

  const std::vector<std::string_view>& tokens_;
  std::uint64_t seeds_[2];   // random, so that no tokens can be chosen to collide
  std::vector<Slot> slots_;  // a power of two, at most half full
  unsigned shift_;
};

}  // namespace hf_bpe
