// The ids of pre-tokens: a bounded cache in front of the merging.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "backtracking.hpp"
#include "merging.hpp"
#include "word_table.hpp"

namespace hf_bpe {

// For one thread. `Id` is what an id fits in.
template <class Id>
class WordIds {
  static constexpr std::size_t kInline = 16 / sizeof(Id) - 1;

  struct Ids {
    Id ids[kInline];  // or where they stand in the list of long ones
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

  // Ids are written beyond the last one, too: so much more room is needed than there are words' bytes.
  static constexpr std::size_t kSlack = 16;

  // Writes the ids of some words, which lie one behind the other, and returns where they end.
  std::uint32_t* encode(const Byte* text, const Byte* const* ends, std::size_t count, const Byte* readable,
                        std::uint32_t* out) {
    if (table_.size() + count > kMostWords || bytes() - table_.slots() * sizeof(Entry) > kMostLongBytes) {
      table_ = Table();
      long_.clear();
    }
    table_.look_up(text, ends, count, readable, [&](Key key, std::size_t slot, const Byte* word, std::size_t length) {
      const Entry& entry = table_[slot];
      if (entry.key.low == key.low && entry.key.high == key.high) {
        out = write(entry.value, out);
      } else {
        out = find(key, slot, word, length, out);
      }
    });
    return out;
  }

  // What is remembered takes so much memory.
  std::size_t bytes() const {
    return table_.slots() * sizeof(Entry) + table_.long_bytes() + long_.size() * sizeof(Id);
  }

 private:
  // All is dropped and begun anew rather than that the table has more than 32 MB or the rest more than 16 MB.
  static constexpr std::size_t kMostWords = (std::size_t{1} << 20) / 8 * 5;
  static constexpr std::size_t kMostLongBytes = std::size_t{16} << 20;
  static constexpr std::size_t kLongestWord = 256;
  // Bytes of long words after which it is worth some milliseconds to prepare for more.
  static constexpr std::size_t kWorthBacktracking = std::size_t{1} << 14;

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

  std::uint32_t* find(Key key, std::size_t slot, const Byte* word, std::size_t length, std::uint32_t* out) {
    slot = table_.find_slot(key, slot, word, length);
    if (!table_[slot].is_empty()) return write(table_[slot].value, out);
    const std::size_t size = make(word, length, out);
    if (length <= kLongestWord) keep(key, slot, word, length, out, size);
    return out + size;
  }

  // Writes the ids of a word that is not remembered, and returns how many.
  std::size_t make(const Byte* word, std::size_t length, std::uint32_t* out) {
    const std::uint32_t whole = vocabulary_.whole_word(word, length);
    if (whole != Vocabulary::kMissing) {
      *out = whole;
      return 1;
    }
    const std::vector<Symbol>& symbols = merge(word, length);
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

  const std::vector<Symbol>& merge(const Byte* word, std::size_t length) {
    if (length <= Merger::kLongestScan) return merger_.merge(word, length);
    long_bytes_ += length;
    if (long_bytes_ < kWorthBacktracking || !backtracking_.get().is_exact()) return merger_.merge(word, length);
    backtracking_.get().merge(word, length, symbols_);
    return symbols_;
  }

  const Vocabulary& vocabulary_;
  const LazyBacktracking& backtracking_;
  Merger merger_;
  std::vector<Symbol> symbols_;
  std::size_t long_bytes_ = 0;  // of words that no scan merges
  Table table_;
  std::vector<Id> long_;  // of words with more than fit their entry, each filled up to a multiple of kSlack
};

}  // namespace hf_bpe
