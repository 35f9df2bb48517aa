// In a file of its own, because a header would be compiled for AVX2, too, and the linker could choose that.
#include "support/simd.hpp"

namespace hf_bpe {

Simd widest_simd() {
#if defined(HF_BPE_X86)
  if (__builtin_cpu_supports("avx2")) return Simd::kAvx2;
#elif defined(HF_BPE_NEON)
  return Simd::kNeon;
#endif
  return Simd::kScalar;
}

}  // namespace hf_bpe
