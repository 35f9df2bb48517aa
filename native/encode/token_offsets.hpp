// Offsets of ids: the characters of the text, and the part (pre-token or added token), that each id comes from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "encode/decoder.hpp"
#include "files/printable.hpp"
#include "merge/vocabulary.hpp"
#include "scan/characters.hpp"
#include "support/poll.hpp"
#include "text/chunks.hpp"
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
  // `decoder` knows the bytes of tokens; results are appended to `offsets`. `drops_bytes`: bytes without a token are
  // dropped, and their placeholders come after the other ids of their word. With `characters` words are not pre-tokens.
  OffsetCollector(const Decoder& decoder, bool drops_bytes, std::vector<TokenOffsets>& offsets,
                  const CharacterCuts* characters = nullptr)
      : decoder_(decoder), drops_bytes_(drops_bytes), offsets_(offsets), characters_(characters) {}

  // A segment of text between added tokens follows.
  void begin_segment() { is_at_begin_ = true; }

  // The ids of consecutive pre-tokens, of which the first begins at `offset` in the text's UTF-8; or before `lowest`,
  // if a prefix space was added, which has the position of the first character.
  void add_words(std::ptrdiff_t offset, std::ptrdiff_t lowest, const Byte* words, const Byte* const* ends,
                 std::size_t count, const std::uint32_t* ids, const std::uint32_t* ids_end) {
    std::ptrdiff_t at = offset;
    for (std::size_t i = 0; i < count; ++i) {
      const Byte* const word = i > 0 ? ends[i - 1] : words;
      if (characters_ == nullptr || is_at_begin_ || (characters_->rules().splits && *word == ' ')) ++part_;
      is_at_begin_ = false;
      const std::ptrdiff_t start = at, end = offset + (ends[i] - words);
      const std::uint32_t* const first = ids;
      while (at < end && ids != ids_end) {
        const std::ptrdiff_t begin = at;
        at += static_cast<std::ptrdiff_t>(size_of(*ids++));
        add(begin, at, lowest);
      }
      if (drops_bytes_ && ids != first && ids[-1] == Vocabulary::kMissing) {
        offsets_.resize(offsets_.size() - static_cast<std::size_t>(ids - first));
        add_rest_of_word(start, lowest, word, first, ids);
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

  // Joins the offsets of the last ids, `count` of them, to as many as there are `sizes`.
  void join(std::size_t count, const std::vector<std::size_t>& sizes) {
    auto joined = offsets_.end() - static_cast<std::ptrdiff_t>(count), last = joined;
    for (const std::size_t size : sizes) {
      last += static_cast<std::ptrdiff_t>(size);
      TokenOffsets each = *(last - static_cast<std::ptrdiff_t>(size));
      each.end = last[-1].end;
      *joined++ = each;
    }
    offsets_.erase(joined, offsets_.end());
  }

  void add_token(std::ptrdiff_t begin, std::ptrdiff_t end) { offsets_.push_back({begin, end, ++part_}); }

 private:
  void add(std::ptrdiff_t begin, std::ptrdiff_t end, std::ptrdiff_t lowest) {
    offsets_.push_back({std::max(begin, lowest), std::max(end, lowest + 1), part_});
  }

  // The ids of a word of which bytes were dropped. `tokenizers` counts them from the beginning of the word, in the
  // UTF-8 of its printable form: they come too early, and one that has part of a character there covers the whole.
  void add_rest_of_word(std::ptrdiff_t offset, std::ptrdiff_t lowest, const Byte* word, const std::uint32_t* ids,
                        const std::uint32_t* ids_end) {
    const auto size = [](Byte byte) { return character_of(byte) < 0x80 ? std::size_t{1} : std::size_t{2}; };
    std::ptrdiff_t number = 0;                        // of a byte of the word
    std::size_t end_of_number = size(*word), at = 0;  // in the printable form
    const auto byte_at = [&](std::size_t position) {
      while (end_of_number <= position) end_of_number += size(word[++number]);
      return offset + number;
    };
    for (; ids != ids_end; ++ids) {
      const std::ptrdiff_t begin = byte_at(at);
      if (*ids == Vocabulary::kMissing) {
        add(begin, begin + 1, lowest);  // removed by `drop`
        continue;
      }
      for (const char byte : decoder_.bytes(*ids)) at += size(static_cast<Byte>(byte));
      add(begin, byte_at(at - 1) + 1, lowest);
    }
  }

  // The placeholder of a byte without a token is one byte long.
  std::size_t size_of(std::uint32_t id) const { return std::max<std::size_t>(decoder_.bytes(id).size(), 1); }

  const Decoder& decoder_;
  const bool drops_bytes_;
  std::vector<TokenOffsets>& offsets_;
  const CharacterCuts* characters_;
  bool is_at_begin_ = false;
  std::int64_t part_ = -1;
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
