// Rows of ids as a rectangle, which is what models take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hf_bpe {

struct Padding {
  std::size_t length;  // of a row; longer ones lose their last ids
  std::int64_t pad_id;
  bool is_left;  // whether what fills a row up stands before its ids
};

// Writes rows of `length` ids each, and of ones where an id is and zeros where the padding is. Row i has the ids from
// offsets[i] to offsets[i + 1].
inline void pad(const std::uint32_t* ids, const std::vector<std::int64_t>& offsets, const Padding& padding,
                std::int64_t* out, std::int64_t* mask) {
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
    const std::uint32_t* from = ids + offsets[row];
    const std::size_t size = std::min(static_cast<std::size_t>(offsets[row + 1] - offsets[row]), padding.length);
    const std::size_t filled = padding.length - size;
    const std::size_t before = padding.is_left ? filled : 0;
    std::fill_n(out, padding.length, padding.pad_id);
    std::copy(from, from + size, out + before);
    std::fill_n(mask, padding.length, 0);
    std::fill_n(mask + before, size, 1);
    out += padding.length;
    mask += padding.length;
  }
}

}  // namespace hf_bpe
