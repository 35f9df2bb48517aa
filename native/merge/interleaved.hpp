// Merges many short words: a few of them in turn, so that one is merged while others wait for memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "support/simd.hpp"
#include "tables/character_symbols.hpp"
#include "tables/compact_ranks.hpp"
#include "tables/small_ranks.hpp"

namespace hf_bpe {

// The tables of a vocabulary that merging reads.
struct MergeTables {
  const SmallRanks* small;       // null if the model is too large
  const CompactRanks* compact;   // null if it is not
  const std::uint32_t* results;  // null if the result of the first merge is symbol 256, and so on
  const std::uint32_t* ids;      // up to this symbol: later ones have the ids after its own
  std::uint32_t last_with_id;
  const CharacterSymbols* characters;  // null if words are merged from bytes

  std::uint32_t id(std::uint32_t symbol) const {
    const std::uint32_t at = std::min(symbol, last_with_id);
    return ids[at] + (symbol - at);
  }
};

// A word to merge.
struct PendingWord {
  const Byte* word;
  std::uint32_t* out;  // where its ids are written, with room for `length`
  std::size_t length;
  std::size_t size;      // the number of its ids, 0 before it is merged
  const Byte* readable;  // memory may be read up to here
};

inline constexpr std::size_t kLongestInterleaved = 62;  // bytes

// Merges the words of up to kLongestInterleaved bytes that have no size yet.
using MergeInterleaved = void (*)(const MergeTables& tables, PendingWord* words, std::size_t count);

void merge_interleaved(const MergeTables& tables, PendingWord* words, std::size_t count);
// May only be called on machines with AVX2.
void merge_interleaved_avx2(const MergeTables& tables, PendingWord* words, std::size_t count);

inline MergeInterleaved interleaved_for([[maybe_unused]] Simd simd) {
#if defined(HF_BPE_X86)
  if (simd == Simd::kAvx2) return merge_interleaved_avx2;
#endif
  return merge_interleaved;
}

}  // namespace hf_bpe
