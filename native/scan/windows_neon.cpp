// Windows in NEON, which every 64-bit ARM processor has.
#include "scan/windows.hpp"

#if defined(HF_BPE_NEON)
#include <arm_acle.h>
#include <arm_neon.h>

namespace hf_bpe {
namespace {

// The place of the lowest bit, 64 if none is set.
inline std::uint64_t lowest(std::uint64_t mask) { return __clzll(__rbitll(mask)); }

struct Block {
  uint8x16_t part[4];

  static Block load(const Byte* text) {
    return {{vld1q_u8(text), vld1q_u8(text + 16), vld1q_u8(text + 32), vld1q_u8(text + 48)}};
  }
  Block lower_case() const {
    const uint8x16_t bit = vdupq_n_u8(0x20);
    return {{vorrq_u8(part[0], bit), vorrq_u8(part[1], bit), vorrq_u8(part[2], bit), vorrq_u8(part[3], bit)}};
  }
  std::uint64_t equal(Byte byte) const {
    const uint8x16_t bytes = vdupq_n_u8(byte);
    return mask([&](int i) { return vceqq_u8(part[i], bytes); });
  }
  std::uint64_t within(Byte low, Byte high) const {
    const uint8x16_t start = vdupq_n_u8(low);
    const uint8x16_t length = vdupq_n_u8(high - low);
    return mask([&](int i) { return vcleq_u8(vsubq_u8(part[i], start), length); });
  }
  std::uint64_t next_within(const Byte* next, const Byte (&least)[16], const Byte (&distance)[16]) const {
    const uint8x16_t all_least = vld1q_u8(least), most = vld1q_u8(distance);
    const Block nexts = load(next);
    return mask([&](int i) {
      const uint8x16_t half = vandq_u8(part[i], vdupq_n_u8(0x0F));
      return vcleq_u8(vsubq_u8(nexts.part[i], vqtbl1q_u8(all_least, half)), vqtbl1q_u8(most, half));
    });
  }
  std::uint64_t non_ascii() const {
    const uint8x16_t bit = vdupq_n_u8(0x80);
    return mask([&](int i) { return vcgeq_u8(part[i], bit); });
  }

 private:
  // One bit per byte: each keeps the bit of its position among eight, and neighbors are added three times.
  template <class Compare>
  std::uint64_t mask(Compare compare) const {
    const uint8x16_t place = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t low = vpaddq_u8(vandq_u8(compare(0), place), vandq_u8(compare(1), place));
    const uint8x16_t high = vpaddq_u8(vandq_u8(compare(2), place), vandq_u8(compare(3), place));
    const uint8x16_t all = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
  }
};

}  // namespace
}  // namespace hf_bpe

#include "scan/windows.inc"

namespace hf_bpe {

std::size_t scan_neon(Pattern::Name pattern, const Byte* text, const Byte* end, const Byte** ends,
                      std::size_t capacity) {
  return scan(pattern, text, end, ends, capacity);
}

}  // namespace hf_bpe
#endif
