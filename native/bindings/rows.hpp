// Rows of ids, as models take them: each row has one or two sequences of ids and the special tokens of a template.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/poll.hpp"

namespace hf_bpe {

class Rows {
 public:
  // Row i holds the ids from spans[i][j][0] to spans[i][j][1] for each sequence j, with template_ids[0] before the
  // first sequence and template_ids[j + 1] after each. Throws std::invalid_argument for a span that lies outside the
  // ids.
  Rows(std::vector<std::uint32_t> ids, std::vector<std::int64_t> spans,
       std::vector<std::vector<std::uint32_t>> template_ids)
      : Rows(ids.data(), ids.size(), std::move(spans), std::move(template_ids)) {
    held_ = std::move(ids);  // whose data stay where they are
  }
  // Of ids that outlive the rows.
  Rows(const std::uint32_t* ids, std::size_t size, std::vector<std::int64_t> spans,
       std::vector<std::vector<std::uint32_t>> template_ids)
      : ids_(ids), spans_(std::move(spans)), template_ids_(std::move(template_ids)) {
    count_ = spans_.size() / 2 / sequences();
    for (std::size_t i = 0; i < count_ * sequences(); ++i) {
      const std::int64_t begin = spans_[2 * i], end = spans_[2 * i + 1];
      if (begin < 0 || begin > end || static_cast<std::uint64_t>(end) > size) {
        throw std::invalid_argument("spans: expected each to begin before it ends, and to lie within the ids");
      }
    }
    for (const auto& each : template_ids_) special_ += each.size();
  }

  Rows(Rows&&) = default;
  Rows(const Rows&) = delete;

  std::size_t count() const { return count_; }
  std::size_t length(std::size_t row) const {
    std::size_t length = special_;
    for (std::size_t j = 0; j < sequences(); ++j) length += size_of(row, j);
    return length;
  }
  std::size_t longest() const {
    std::size_t longest = 0;
    for (std::size_t row = 0; row < count_; ++row) longest = std::max(longest, length(row));
    return longest;
  }

  bool are_all_of(std::size_t length) const {
    for (std::size_t row = 0; row < count_; ++row) {
      if (this->length(row) != length) return false;
    }
    return true;
  }

  // Calls `use` with the ids of each part of a row and their number.
  template <class Use>
  void for_each_part(std::size_t row, const Use& use) const {
    use(template_ids_[0].data(), template_ids_[0].size());
    for (std::size_t j = 0; j < sequences(); ++j) {
      use(ids_ + spans_[2 * (row * sequences() + j)], size_of(row, j));
      use(template_ids_[j + 1].data(), template_ids_[j + 1].size());
    }
  }

  // Writes all rows filled up to `length` with `pad_id`, and rows of ones where an id is and zeros where padding is. No
  // row may be longer.
  void write_padded(std::size_t length, std::int64_t pad_id, bool is_left, std::int64_t* out, std::int64_t* mask,
                    const PollFunction& poll) const {
    PollInLoop polls(poll);
    for (std::size_t row = 0; row < count_; ++row, out += length, mask += length) {
      const std::size_t size = this->length(row);
      const std::size_t before = is_left ? length - size : 0;
      polls(length);
      std::int64_t* next = std::fill_n(out, before, pad_id);
      for_each_part(row,
                    [&](const std::uint32_t* part, std::size_t of_part) { next = std::copy_n(part, of_part, next); });
      std::fill_n(next, length - size - before, pad_id);
      std::fill_n(mask, before, 0);
      std::fill_n(mask + before, size, 1);
      std::fill_n(mask + before + size, length - size - before, 0);
    }
  }

 private:
  std::size_t sequences() const { return template_ids_.size() - 1; }
  std::size_t size_of(std::size_t row, std::size_t sequence) const {
    const std::int64_t* span = spans_.data() + 2 * (row * sequences() + sequence);
    return static_cast<std::size_t>(span[1] - span[0]);
  }

  std::vector<std::uint32_t> held_;
  const std::uint32_t* ids_;
  std::vector<std::int64_t> spans_;
  std::size_t count_ = 0;
  std::vector<std::vector<std::uint32_t>> template_ids_;
  std::size_t special_ = 0;
};

}  // namespace hf_bpe
