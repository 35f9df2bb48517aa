// How often each pre-token occurs: a hash table from bytes to a 64-bit count.
#pragma once

#include <cstddef>
#include <cstdint>

#include "count/word_table.hpp"
#include "count/words.hpp"

namespace hf_bpe {

class WordCounts : public Words {
 public:
  WordCounts() = default;
  // For so many bytes of memory, in which they stay as long as nothing is added to them when they are full.
  explicit WordCounts(std::size_t memory);
  // Whether the words of so many bytes of text might be too many.
  bool is_full(std::size_t text_bytes) const;

  std::size_t size() const { return table_.size(); }

  // Adds `weight` to the count of each word; the first begins at `text`, the others where the one before ends. As far as
  // `readable`, memory may be read beyond a word's end.
  void add_each(const Byte* text, const Byte* const* ends, std::size_t count, const Byte* readable,
                std::uint64_t weight = 1);

  // Adds to the count of one word; throws std::overflow_error past 64 bits.
  void add(const Byte* word, std::size_t length, std::uint64_t count);

  // Moves the words to the first slots, in the order of their bytes. Nothing can be found or added afterwards, and after
  // `poll` has thrown nothing is of use.
  void sort(const PollFunction& poll) { table_.sort(poll); }

  // In the order of the slots.
  void for_each(const Visit& visit) const override;

  // Words are numbered by slots of the table, of which some are empty: of count 0. Adding moves them.
  std::size_t slots() const { return table_.slots(); }
  std::uint64_t count_at(std::size_t slot) const { return table_[slot].value; }
  std::size_t length_at(std::size_t slot) const { return table_.length_at(slot); }
  // The bytes of the word, which `room`, of 16 bytes, may have to hold.
  const Byte* word_at(std::size_t slot, Byte* room) const { return table_.word_at(slot, room); }

 private:
  using Table = WordTable<std::uint64_t, 1>;

  void add(Table::Key key, std::size_t slot, const Byte* word, std::size_t length, std::uint64_t count);

  Table table_;
  std::size_t long_bytes_ = 0;  // for which there is room, where the memory was given
};

}  // namespace hf_bpe
