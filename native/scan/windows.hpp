// Scanners that split text 64 bytes at a time; each is compiled with its own vector instructions, and may only be
// called on machines with these. Their results equal those of `next_pre_token`, for all patterns except kNone.
#pragma once

#include "scan/scanner.hpp"
#include "support/simd.hpp"

namespace hf_bpe {

std::size_t scan_avx2(Pattern::Name pattern, const Byte* text, const Byte* end, const Byte** ends,
                      std::size_t capacity);
std::size_t scan_neon(Pattern::Name pattern, const Byte* text, const Byte* end, const Byte** ends,
                      std::size_t capacity);

}  // namespace hf_bpe
