// How often each pre-token occurs: a hash table from bytes to a 64-bit count.
#pragma once

#include <cstddef>
#include <cstdint>

#include "word_table.hpp"
#include "words.hpp"

namespace hf_bpe {

class WordCounts : public Words {
 public:
  std::size_t size() const { return table_.size(); }

  // Adds one to the count of each word; the first begins at `text`, the others where the one before ends. As far as
  // `readable`, memory may be read beyond a word's end.
  void add_each(const Byte* text, const Byte* const* ends, std::size_t count, const Byte* readable);

  // Adds to the count of one word; throws std::overflow_error past 64 bits.
  void add(const Byte* word, std::size_t length, std::uint64_t count);
  void add(const WordCounts& other);

  // The count of a word, 0 if it is none.
  std::uint64_t find(const Byte* word, std::size_t length) const;

  // In the order of the slots.
  void for_each(const Visit& visit) const override;

  // Words are numbered by slots of the table, of which some are empty: of count 0. Adding moves them.
  std::size_t slots() const { return table_.slots(); }
  std::uint64_t count_at(std::size_t slot) const { return table_[slot].value; }
  std::size_t length_at(std::size_t slot) const { return table_.length_at(slot); }
  // The bytes of the word, which `room`, of 16 bytes, may have to hold.
  const Byte* word_at(std::size_t slot, Byte* room) const { return table_.word_at(slot, room); }
  void prefetch(std::size_t slot) const { table_.prefetch(slot); }

 private:
  using Table = WordTable<std::uint64_t, 1>;

  void add(Table::Key key, std::size_t slot, const Byte* word, std::size_t length, std::uint64_t count);

  Table table_;
};

}  // namespace hf_bpe
