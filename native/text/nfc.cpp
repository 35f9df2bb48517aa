#include "text/nfc.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace hf_bpe {
namespace {

// Ranges in which each character is its own NFC, has combining class 0, and is never the second character of a
// composition. Scripts that are written with marks are left out. tests/encoding/test_prefix_cache.py compares them
// with Python's tables.
constexpr struct {
  std::uint32_t first, last;
} kRanges[] = {
    {0x0000, 0x02FF}, {0x0370, 0x0373},   {0x0375, 0x037D},   {0x037F, 0x0386}, {0x0388, 0x0482}, {0x048A, 0x0590},
    {0x05D0, 0x05F4}, {0x0620, 0x064A},   {0x0660, 0x066F},   {0x0671, 0x06D5}, {0x10A0, 0x10FF}, {0x1E00, 0x1EFF},
    {0x2002, 0x20CF}, {0x2100, 0x2125},   {0x2127, 0x2129},   {0x212C, 0x2328}, {0x232B, 0x2ADB}, {0x2E80, 0x3029},
    {0x3030, 0x3098}, {0x309B, 0xA48F},   {0xAC00, 0xD7A3},   {0xE000, 0xF8FF}, {0xFE00, 0xFE0F}, {0xFF00, 0xFF9D},
    {0xFFFD, 0xFFFD}, {0x1F000, 0x1FAFF}, {0x20000, 0x2F7FF},
};

bool is_inert(std::uint32_t code) {
  if (code <= kRanges[0].last) return true;
  const auto after = std::partition_point(std::begin(kRanges), std::end(kRanges),
                                          [&](const auto& range) { return range.first <= code; });
  return code <= (after - 1)->last;
}

template <class Unit>
bool are_inert(const Byte* begin, const Byte* end) {
  constexpr std::size_t kRun = 16;  // most text has long runs below U+0100
  const auto* unit = reinterpret_cast<const Unit*>(begin);
  const auto* const last = reinterpret_cast<const Unit*>(end);
  while (unit != last) {
    const auto size = std::min<std::size_t>(kRun, static_cast<std::size_t>(last - unit));
    Unit all = 0;
    for (std::size_t i = 0; i < size; ++i) all |= unit[i];
    if (all > kRanges[0].last && !std::all_of(unit, unit + size, is_inert)) return false;
    unit += size;
  }
  return true;
}

// A byte that begins no character is none that NFC could change, as it is normalized for itself.
bool are_inert_in_utf8(const Byte* begin, const Byte* end) {
  constexpr std::ptrdiff_t kRun = 32;  // most text has long runs below U+0300
  constexpr Byte kFirst = 0xCC;        // of the UTF-8 of U+0300
  while (begin < end) {
    const Byte* const stop = begin + std::min(kRun, end - begin);
    Byte highest = 0;
    for (const Byte* at = begin; at != stop; ++at) highest = std::max(highest, *at);
    if (highest < kFirst) {
      begin = stop;
      continue;
    }
    while (begin < stop) {  // the last character may end after the run
      unsigned length = 1;
      if (*begin >= kFirst) {
        const auto length_of = [](std::uint32_t code, unsigned bytes) { return is_inert(code) ? bytes : 0u; };
        length = decode_non_ascii(begin, end, length_of, 0u);
      }
      if (length == 0) return false;
      begin += length;
    }
  }
  return true;
}

}  // namespace

bool is_surely_nfc(const Byte* begin, const Byte* end, unsigned width) {
  if (width == 0) return are_inert_in_utf8(begin, end);
  if (width == 1) return true;
  return width == 2 ? are_inert<std::uint16_t>(begin, end) : are_inert<std::uint32_t>(begin, end);
}

}  // namespace hf_bpe
