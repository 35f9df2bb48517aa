// Counts of pre-tokens: a hash table from bytes to a 64-bit count.
#pragma once

#include <cstddef>
#include <cstdint>

#include "count/words.hpp"
#include "tables/word_table.hpp"

namespace hf_bpe {

class WordCounts : public Words {
 public:
  WordCounts() = default;
  // For a number of bytes of memory, which is not exceeded as long as nothing is added to a full table.
  explicit WordCounts(std::size_t memory);
  // Whether the words of this many bytes of text might not fit.
  bool is_full(std::size_t text_bytes) const;

  std::size_t size() const { return table_.size(); }

  // Adds `weight` to the count of each word; the first begins at `text`, each other one where the preceding ends.
  // Memory may be read beyond a word's end, up to `readable`.
  void add_each(const Byte* text, const Byte* const* ends, std::size_t count, const Byte* readable,
                std::uint64_t weight = 1);

  // Adds to the count of one word; throws std::overflow_error if it exceeds 64 bits.
  void add(const Byte* word, std::size_t length, std::uint64_t count);

  // Moves the words to the first slots, in byte order. Nothing can be found or added afterwards; if `poll` throws, the
  // table is unusable.
  void sort(const PollFunction& poll) { table_.sort(poll); }

  // In the order of the slots.
  void for_each(const Visit& visit) const override;

  // Words are numbered by slots of the table, some of which are empty: they have the count 0. Adding moves words.
  std::size_t slots() const { return table_.slots(); }
  std::uint64_t count_at(std::size_t slot) const { return table_[slot].value; }
  std::size_t length_at(std::size_t slot) const { return table_.length_at(slot); }
  // The bytes of the word, possibly stored in `room`, which has 16 bytes.
  const Byte* word_at(std::size_t slot, Byte* room) const { return table_.word_at(slot, room); }

 private:
  using Table = WordTable<std::uint64_t, 1>;

  void add(Table::Key key, std::size_t slot, const Byte* word, std::size_t length, std::uint64_t count);

  Table table_;
  std::size_t long_bytes_ = 0;  // the room for long words, if memory is limited
};

}  // namespace hf_bpe
