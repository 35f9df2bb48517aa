// Merging of short words in AVX2. Compiled with its flags.
#include "support/simd.hpp"

#if defined(HF_BPE_X86)
#include "merge/interleaved.inc"

namespace hf_bpe {

void merge_interleaved_avx2(const MergeTables& tables, PendingWord* words, std::size_t count) {
  merge_all(tables, words, count);
}

}  // namespace hf_bpe
#endif
