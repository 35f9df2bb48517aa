// In a file of its own, because a header would be compiled for AVX2, too, and the linker could choose that.
#include "support/simd.hpp"

#if defined(HF_BPE_X86)
#include <cpuid.h>
#endif

namespace hf_bpe {

#if defined(HF_BPE_X86)
namespace {

// Whether the machine has all that the build gives the *_avx2.cpp files. Not `__builtin_cpu_supports`,
// which reads what the compiler's runtime library fills in at startup: that of zig fills in nothing, and it answers no.
// The leaves and bits are those of CPUID in Intel's Software Developer's Manual, volume 2, and in AMD's volume 3,
// appendix E.
bool has_avx2() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kLeaf1 = bit_OSXSAVE | bit_AVX;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & kLeaf1) != kLeaf1) return false;
  // The processor may have them and the operating system not save their registers: XCR0 says which it does.
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned kSseAndAvxRegisters = 0b110;
  if ((low & kSseAndAvxRegisters) != kSseAndAvxRegisters) return false;
  constexpr unsigned kLeaf7 = bit_AVX2 | bit_BMI | bit_BMI2;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & kLeaf7) != kLeaf7) return false;
  return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & bit_LZCNT) != 0;
}

const bool kHasAvx2 = has_avx2();  // once, for CPUID takes microseconds where the machine is virtual

}  // namespace
#endif

Simd widest_simd() {
#if defined(HF_BPE_X86)
  if (kHasAvx2) return Simd::kAvx2;
#elif defined(HF_BPE_NEON)
  return Simd::kNeon;
#endif
  return Simd::kScalar;
}

}  // namespace hf_bpe
