// Conversion to UTF-8 in AVX2, 16 units at a time. Compiled with its flags; so everything is local, and nothing inline
// is called that the linker might take for the rest of the program.
#include "text/transcoding.hpp"

#if defined(HF_BPE_X86)
#include <immintrin.h>

namespace hf_bpe {
namespace {

constexpr unsigned kUnits = 16;

// Sixteen units in 32 bits each.
struct Block {
  __m256i low, high;
};

const __m128i* vector_at(const Byte* bytes) { return reinterpret_cast<const __m128i*>(bytes); }

template <unsigned kWidth>
Block load_block(const Byte* text) {
  const auto widened = [&](unsigned first) {
    const Byte* at = text + first * kWidth;
    if constexpr (kWidth == 1) return _mm256_cvtepu8_epi32(_mm_loadl_epi64(vector_at(at)));
    if constexpr (kWidth == 2) return _mm256_cvtepu16_epi32(_mm_loadu_si128(vector_at(at)));
    if constexpr (kWidth == 4) return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  };
  return {widened(0), widened(8)};
}

// Writes the units if all are ASCII.
template <unsigned kWidth>
bool copy_ascii(const Byte* text, Byte* out) {
  const auto part = [&](unsigned i) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text) + i); };
  __m128i bytes;
  if constexpr (kWidth == 1) {
    bytes = _mm_loadu_si128(vector_at(text));
    if (_mm_movemask_epi8(bytes) != 0) return false;
  } else if constexpr (kWidth == 2) {
    const __m256i units = part(0);
    if (!_mm256_testz_si256(units, _mm256_set1_epi16(static_cast<short>(0xFF80)))) return false;
    bytes = _mm_packus_epi16(_mm256_castsi256_si128(units), _mm256_extracti128_si256(units, 1));
  } else {
    if (!_mm256_testz_si256(_mm256_or_si256(part(0), part(1)), _mm256_set1_epi32(~0x7F))) return false;
    const __m256i units = _mm256_permute4x64_epi64(_mm256_packus_epi32(part(0), part(1)), 0xD8);
    bytes = _mm_packus_epi16(_mm256_castsi256_si128(units), _mm256_extracti128_si256(units, 1));
  }
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes);
  return true;
}

// How to close the gaps between the UTF-8 of four characters that end at bytes 3, 7, 11 and 15. The number of a shuffle
// has two bits for each character, its length less one, those of the first character lowest.
struct Shuffles {
  alignas(64) Byte from[256][16];  // of each byte the place it comes from
  Byte sizes[256];                 // the number of bytes

  constexpr Shuffles() : from(), sizes() {
    for (unsigned number = 0; number < 256; ++number) {
      unsigned size = 0;
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned length = (number >> (2 * i) & 3) + 1;
        for (unsigned j = 0; j < length; ++j) from[number][size++] = static_cast<Byte>(4 * i + 4 - length + j);
      }
      sizes[number] = static_cast<Byte>(size);
    }
  }
};
constexpr Shuffles kShuffles;

struct Sequences {
  __m256i bytes;    // the UTF-8 of each character in the last bytes of its 32 bits
  __m256i lengths;  // less one, negative
};

Sequences sequences_of(__m256i codes) {
  const auto all = [](unsigned value) { return _mm256_set1_epi32(static_cast<int>(value)); };
  const auto six_bits = [&](__m256i shifted, unsigned byte) {
    return _mm256_and_si256(shifted, all(0x3Fu << 8 * byte));
  };
  const __m256i two = _mm256_cmpgt_epi32(codes, all(0x7F));  // at least two bytes
  const __m256i three = _mm256_cmpgt_epi32(codes, all(0x7FF));
  const __m256i four = _mm256_cmpgt_epi32(codes, all(0xFFFF));
  const __m256i last = _mm256_slli_epi32(codes, 24);
  const __m256i bits =
      _mm256_or_si256(_mm256_or_si256(six_bits(last, 3), six_bits(_mm256_slli_epi32(codes, 10), 2)),
                      _mm256_or_si256(six_bits(_mm256_srli_epi32(codes, 4), 1), _mm256_srli_epi32(codes, 18)));
  constexpr unsigned kTwo = 0x80C00000, kThree = 0x8080E000, kFour = 0x808080F0;  // what marks the bytes
  const __m256i marks = _mm256_xor_si256(
      _mm256_and_si256(two, all(kTwo)),
      _mm256_xor_si256(_mm256_and_si256(three, all(kTwo ^ kThree)), _mm256_and_si256(four, all(kThree ^ kFour))));
  return {_mm256_blendv_epi8(last, _mm256_or_si256(bits, marks), two),
          _mm256_add_epi32(two, _mm256_add_epi32(three, four))};
}

// Writes the UTF-8 of sixteen characters and returns its end.
Byte* write_block(const Block& block, Byte* out) {
  const Sequences low = sequences_of(block.low), high = sequences_of(block.high);
  // In the order of the units: first those of each half of a vector, hence the permutations.
  const __m256i lengths = _mm256_permute4x64_epi64(_mm256_packs_epi32(low.lengths, high.lengths), 0xD8);
  const __m128i bytes =
      _mm_abs_epi8(_mm_packs_epi16(_mm256_castsi256_si128(lengths), _mm256_extracti128_si256(lengths, 1)));
  const __m128i pairs = _mm_maddubs_epi16(bytes, _mm_set1_epi16(0x0401));
  const __m128i numbers = _mm_madd_epi16(pairs, _mm_set1_epi32(0x00100001));
  const auto write_four = [&](__m128i sequences, int number) {
    const __m128i from = _mm_load_si128(vector_at(kShuffles.from[number]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_shuffle_epi8(sequences, from));
    out += kShuffles.sizes[number];
  };
  write_four(_mm256_castsi256_si128(low.bytes), _mm_extract_epi32(numbers, 0));
  write_four(_mm256_extracti128_si256(low.bytes, 1), _mm_extract_epi32(numbers, 1));
  write_four(_mm256_castsi256_si128(high.bytes), _mm_extract_epi32(numbers, 2));
  write_four(_mm256_extracti128_si256(high.bytes, 1), _mm_extract_epi32(numbers, 3));
  return out;
}

bool has_surrogates(const Block& block) {
  const auto surrogates = [](__m256i codes) {
    return _mm256_cmpeq_epi32(_mm256_srli_epi32(codes, 11), _mm256_set1_epi32(0xD800 >> 11));
  };
  const __m256i any = _mm256_or_si256(surrogates(block.low), surrogates(block.high));
  return !_mm256_testz_si256(any, any);
}

template <unsigned kWidth>
Byte* transcode_units(const Byte* text, const Byte* end, Byte* out) {
  constexpr std::ptrdiff_t kBytes = kUnits * kWidth;
  while (end - text >= kBytes) {
    if (!copy_ascii<kWidth>(text, out)) {
      const Block block = load_block<kWidth>(text);
      if (kWidth > 1 && has_surrogates(block)) {
        const TranscodingPlace next = transcode_characters({text, out}, text + kBytes, end, kWidth);
        text = next.text;
        out = next.out;
        continue;
      }
      out = write_block(block, out);
      text += kBytes;
      continue;
    }
    text += kBytes;
    out += kUnits;
  }
  return transcode_characters({text, out}, end, end, kWidth).out;
}

}  // namespace

Byte* transcode_avx2(const Byte* text, const Byte* end, unsigned width, Byte* out) {
  if (width == 1) return transcode_units<1>(text, end, out);
  if (width == 2) return transcode_units<2>(text, end, out);
  return transcode_units<4>(text, end, out);
}

}  // namespace hf_bpe
#endif
