// Merges many short words: a few of them in turn, so that one is merged while others wait for memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "encode/compact_ranks.hpp"
#include "encode/packed_table.hpp"
#include "encode/small_ranks.hpp"
#include "text/windows.hpp"

namespace hf_bpe {

// The tables of a vocabulary that merging reads.
struct MergeTables {
  const SmallRanks* small;      // null if the model is too large
  const CompactRanks* compact;  // null if it is not
  const RankTable* ranks;
  const std::uint32_t* ranks_of_bytes;
  const std::uint32_t* results;  // null if the result of the first merge is symbol 256, and so on
  const std::uint32_t* ids;
};

// A word to merge.
struct PendingWord {
  const Byte* word;
  std::uint32_t* out;  // where its ids are written, with room for `length`
  std::size_t length;
  std::size_t size;  // the number of its ids, 0 before it is merged
};

inline constexpr std::size_t kLongestInterleaved = 62;  // bytes

// Merges the words of up to kLongestInterleaved bytes that have no size yet. Memory may be read up to `readable`.
using MergeInterleaved = void (*)(const MergeTables& tables, PendingWord* words, std::size_t count, const Byte* readable);

void merge_interleaved(const MergeTables& tables, PendingWord* words, std::size_t count, const Byte* readable);
// May only be called on machines with AVX2.
void merge_interleaved_avx2(const MergeTables& tables, PendingWord* words, std::size_t count, const Byte* readable);

inline MergeInterleaved interleaved_for([[maybe_unused]] Simd simd) {
#if defined(HF_BPE_X86)
  if (simd == Simd::kAvx2) return merge_interleaved_avx2;
#endif
  return merge_interleaved;
}

}  // namespace hf_bpe
