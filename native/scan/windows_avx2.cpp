// Windows in AVX2. Compiled with its flags.
#include "scan/windows.hpp"

#if defined(HF_BPE_X86)
#include <immintrin.h>

namespace hf_bpe {
namespace {

// The place of the lowest bit, 64 if none is set.
inline std::uint64_t lowest(std::uint64_t mask) { return _tzcnt_u64(mask); }

struct Block {
  __m256i low, high;

  static Block load(const Byte* text) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(text)),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + 32))};
  }
  Block lower_case() const {
    const __m256i bit = _mm256_set1_epi8(0x20);
    return {_mm256_or_si256(low, bit), _mm256_or_si256(high, bit)};
  }
  std::uint64_t equal(Byte byte) const {
    const __m256i bytes = _mm256_set1_epi8(char(byte));
    return mask(_mm256_cmpeq_epi8(low, bytes), _mm256_cmpeq_epi8(high, bytes));
  }
  std::uint64_t within(Byte first, Byte last) const {
    const __m256i start = _mm256_set1_epi8(char(first));
    const __m256i length = _mm256_set1_epi8(char(last - first));
    const auto is_within = [&](__m256i bytes) {
      const __m256i distance = _mm256_sub_epi8(bytes, start);
      return _mm256_cmpeq_epi8(_mm256_min_epu8(distance, length), distance);
    };
    return mask(is_within(low), is_within(high));
  }
  std::uint64_t next_within(const Byte* next, const Byte (&least)[16], const Byte (&distance)[16]) const {
    const __m256i all_least = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(least)));
    const __m256i most = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(distance)));
    const auto is_within = [&](__m256i bytes, __m256i nexts) {
      const __m256i half = _mm256_and_si256(bytes, _mm256_set1_epi8(0x0F));
      const __m256i far = _mm256_sub_epi8(nexts, _mm256_shuffle_epi8(all_least, half));
      return _mm256_cmpeq_epi8(_mm256_min_epu8(far, _mm256_shuffle_epi8(most, half)), far);
    };
    const Block nexts = load(next);
    return mask(is_within(low, nexts.low), is_within(high, nexts.high));
  }
  std::uint64_t non_ascii() const { return mask(low, high); }

 private:
  static std::uint64_t mask(__m256i low, __m256i high) {
    return std::uint32_t(_mm256_movemask_epi8(low)) | std::uint64_t(std::uint32_t(_mm256_movemask_epi8(high))) << 32;
  }
};

}  // namespace
}  // namespace hf_bpe

#include "scan/windows.inc"

namespace hf_bpe {

std::size_t scan_avx2(Pattern::Name pattern, const Byte* text, const Byte* end, const Byte** ends,
                      std::size_t capacity) {
  return scan(pattern, text, end, ends, capacity);
}

}  // namespace hf_bpe
#endif
