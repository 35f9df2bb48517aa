// The ids of pre-tokens: merging with a bounded cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "encode/backtracking.hpp"
#include "encode/merging.hpp"
#include "count/word_table.hpp"

namespace hf_bpe {

// For one thread. `Id` is an integer type that fits all ids.
template <class Id>
class WordIds {
  static constexpr std::size_t kInline = 16 / sizeof(Id) - 1;

  struct Ids {
    Id ids[kInline];  // or their position in the list of long ones
    Id size;
    std::uint32_t place() const {
      std::uint32_t place;
      std::memcpy(&place, ids, sizeof place);
      return place;
    }
  };
  static_assert(sizeof(Ids) == 16);
  using Table = WordTable<Ids, 2>;
  using Key = typename Table::Key;
  using Entry = typename Table::Entry;

 public:
  WordIds(const Vocabulary& vocabulary, const LazyBacktracking& backtracking)
      : vocabulary_(vocabulary), backtracking_(backtracking), merger_(vocabulary) {}

  // Ids are also written beyond the last one: this much room is needed beyond the number of bytes.
  static constexpr std::size_t kSlack = 16;

  // Writes the ids of consecutive words and returns their end.
  std::uint32_t* encode(const Byte* text, const Byte* const* ends, std::size_t count, const Byte* readable,
                        std::uint32_t* out, const PollFunction& poll) {
    if (table_.size() + count > kMostWords || bytes() - table_.slots() * sizeof(Entry) > kMostLongBytes) {
      table_ = Table();
      long_.clear();
    }
    table_.look_up(text, ends, count, readable, [&](Key key, std::size_t slot, const Byte* word, std::size_t length) {
      const Entry& entry = table_[slot];
      if (entry.key.low == key.low && entry.key.high == key.high) {
        out = write(entry.value, out);
      } else {
        out = find(key, slot, word, length, out, poll);
      }
    });
    return out;
  }

  // The memory of the cache.
  std::size_t bytes() const {
    return table_.slots() * sizeof(Entry) + table_.long_bytes() + long_.size() * sizeof(Id);
  }

 private:
  // The cache is flushed before the table exceeds 32 MB or the rest 16 MB.
  static constexpr std::size_t kMostWords = (std::size_t{1} << 20) / 8 * 5;
  static constexpr std::size_t kMostLongBytes = std::size_t{16} << 20;
  static constexpr std::size_t kLongestWord = 256;
  std::uint32_t* write(const Ids& value, std::uint32_t* out) const {
    if (value.size <= kInline) {
      Id ids[kInline + 1];
      std::memcpy(ids, &value, sizeof ids);
      for (std::size_t i = 0; i < kInline + 1; ++i) out[i] = ids[i];
      return out + value.size;
    }
    const Id* ids = long_.data() + value.place();
    std::size_t i = 0;
    do {
      for (std::size_t j = 0; j < kSlack; ++j) out[i + j] = ids[i + j];
      i += kSlack;
    } while (i < value.size);
    return out + value.size;
  }

  std::uint32_t* find(Key key, std::size_t slot, const Byte* word, std::size_t length, std::uint32_t* out,
                      const PollFunction& poll) {
    slot = table_.find_slot(key, slot, word, length);
    if (!table_[slot].is_empty()) return write(table_[slot].value, out);
    const std::size_t size = make(word, length, out, poll);
    if (length <= kLongestWord) keep(key, slot, word, length, out, size);
    return out + size;
  }

  // Writes the ids of a word that is not cached, and returns their number.
  std::size_t make(const Byte* word, std::size_t length, std::uint32_t* out, const PollFunction& poll) {
    const std::uint32_t whole = vocabulary_.whole_word(word, length);
    if (whole != Vocabulary::kMissing) {
      *out = whole;
      return 1;
    }
    if (vocabulary_.lacks_bytes() && vocabulary_.drops_missing_bytes()) return make_of_known(word, length, out, poll);
    return write_merged(word, length, out, poll);
  }

  // The same if bytes without a token are dropped: their placeholders come last, so that the ids still cover all bytes
  // of the word, and the encoder removes them.
  std::size_t make_of_known(const Byte* word, std::size_t length, std::uint32_t* out, const PollFunction& poll) {
    known_.clear();
    std::copy_if(word, word + length, std::back_inserter(known_),
                 [&](Byte byte) { return vocabulary_.id(byte) < Vocabulary::kMissing; });
    std::size_t size = known_.empty() ? 0 : write_merged(known_.data(), known_.size(), out, poll);
    for (std::size_t i = known_.size(); i < length; ++i) out[size++] = Vocabulary::kMissing;
    return size;
  }

  std::size_t write_merged(const Byte* word, std::size_t length, std::uint32_t* out, const PollFunction& poll) {
    const std::vector<Symbol>& symbols = merge(word, length, poll);
    for (std::size_t i = 0; i < symbols.size(); ++i) out[i] = vocabulary_.id(symbols[i]);
    return symbols.size();
  }

  void keep(Key key, std::size_t slot, const Byte* word, std::size_t length, const std::uint32_t* ids, std::size_t size) {
    Ids value;
    value.size = static_cast<Id>(size);
    if (size <= kInline) {
      for (std::size_t i = 0; i < size; ++i) value.ids[i] = static_cast<Id>(ids[i]);
    } else {
      const auto place = static_cast<std::uint32_t>(long_.size());
      std::memcpy(value.ids, &place, sizeof place);
      long_.resize(long_.size() + (size + kSlack - 1) / kSlack * kSlack);
      for (std::size_t i = 0; i < size; ++i) long_[place + i] = static_cast<Id>(ids[i]);
    }
    table_.insert(key, slot, word, length, value);
  }

  const std::vector<Symbol>& merge(const Byte* word, std::size_t length, const PollFunction& poll) {
    if (length > Merger::kLongestScan && backtracking_.pays_after(heap_steps_ += Merger::heap_steps(length))) {
      const Backtracking& backtracking = backtracking_.get(poll);
      if (backtracking.is_exact() && backtracking.merge(word, length, symbols_, poll)) return symbols_;
    }
    return merger_.merge(word, length, poll);
  }

  const Vocabulary& vocabulary_;
  const LazyBacktracking& backtracking_;
  Merger merger_;
  std::vector<Symbol> symbols_;
  std::vector<Byte> known_;     // the bytes of a word that have a token
  std::size_t heap_steps_ = 0;  // steps that words took so far, or would have taken
  Table table_;
  std::vector<Id> long_;  // ids of words that do not fit their entry, each padded to a multiple of kSlack
};

}  // namespace hf_bpe
