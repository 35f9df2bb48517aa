// Offsets of ids: the characters of the text, and the part (pre-token or added token), that each id comes from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/chunks.hpp"
#include "encode/decoder.hpp"
#include "support/poll.hpp"
#include "text/transcoding.hpp"

namespace hf_bpe {

// The offsets of one id. Characters are those of the given text, or bytes if it was given as UTF-8; a token with part
// of a character covers the whole character.
struct TokenOffsets {
  std::int64_t begin, end, part;
};

// Collects the offsets of ids in the order of the text.
class OffsetCollector {
 public:
  // `decoder` knows the lengths of tokens; results are appended to `offsets`.
  OffsetCollector(const Decoder& decoder, std::vector<TokenOffsets>& offsets) : decoder_(decoder), offsets_(offsets) {}

  // The ids of consecutive pre-tokens, of which the first begins at `offset` in the text's UTF-8; or before `lowest`,
  // if a prefix space was added, which has the position of the first character.
  void add_words(std::ptrdiff_t offset, std::ptrdiff_t lowest, const Byte* words, const Byte* const* ends,
                 std::size_t count, const std::uint32_t* ids, const std::uint32_t* ids_end) {
    std::ptrdiff_t at = offset;
    for (std::size_t i = 0; i < count; ++i, ++part_) {
      const std::ptrdiff_t end = offset + (ends[i] - words);
      while (at < end && ids != ids_end) {
        const std::ptrdiff_t begin = std::max(at, lowest);
        at += static_cast<std::ptrdiff_t>(size_of(*ids++));
        offsets_.push_back({begin, std::max(at, lowest + 1), part_});
      }
    }
  }

  // Drops the offsets of the last ids.
  template <class Predicate>
  void drop(const std::uint32_t* ids, const std::uint32_t* ids_end, Predicate is_dropped) {
    auto kept = offsets_.end() - (ids_end - ids);
    for (auto each = kept; each != offsets_.end(); ++each, ++ids) {
      if (!is_dropped(*ids)) *kept++ = *each;
    }
    offsets_.erase(kept, offsets_.end());
  }

  void add_token(std::ptrdiff_t begin, std::ptrdiff_t end) { offsets_.push_back({begin, end, part_++}); }

 private:
  // The placeholder of a byte without a token is one byte long.
  std::size_t size_of(std::uint32_t id) const { return std::max<std::size_t>(decoder_.size(id), 1); }

  const Decoder& decoder_;
  std::vector<TokenOffsets>& offsets_;
  std::int64_t part_ = 0;
};

// Converts offsets in the UTF-8 of a text of wider units to offsets in its units, two of which UTF-8 may have joined.
class Units {
 public:
  Units(const Text& text, const PollFunction& poll) {
    PollInLoop polls(poll);
    const auto walk = [&]<class Unit>(Unit) {
      const auto* unit = reinterpret_cast<const Unit*>(text.begin);
      const auto* const end = reinterpret_cast<const Unit*>(text.end);
      for (std::int64_t number = 0; unit < end; polls()) {
        Byte utf8[4];
        const auto [size, units] = one_to_utf8(unit, end, utf8);
        for (std::size_t i = 0; i < size; ++i) {
          begins_.push_back(number);
          ends_.push_back(number + static_cast<std::int64_t>(units));
        }
        number += static_cast<std::int64_t>(units);
        unit += units;
      }
    };
    if (text.width == 1) walk(std::uint8_t{});
    if (text.width == 2) walk(std::uint16_t{});
    if (text.width == 4) walk(std::uint32_t{});
    begins_.push_back(ends_.empty() ? 0 : ends_.back());
  }

  void convert(TokenOffsets& offsets) const {
    const std::int64_t begin = begins_[static_cast<std::size_t>(offsets.begin)];
    offsets.end = offsets.end > offsets.begin ? ends_[static_cast<std::size_t>(offsets.end - 1)] : begin;
    offsets.begin = begin;
  }

 private:
  std::vector<std::int64_t> begins_, ends_;  // by byte of UTF-8
};

}  // namespace hf_bpe
