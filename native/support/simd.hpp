// Vector instructions of the compiler and of the machine.
#pragma once

#if (defined(__x86_64__) || defined(__i386__)) && (defined(__GNUC__) || defined(__clang__))
#define HF_BPE_X86
#elif defined(__aarch64__) && defined(__ARM_NEON)
#define HF_BPE_NEON
#endif

namespace hf_bpe {

enum class Simd { kScalar, kNeon, kAvx2 };

// The widest instructions of this build and machine.
Simd widest_simd();

}  // namespace hf_bpe
