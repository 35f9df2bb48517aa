// How often each pre-token occurs: a hash table from bytes to a 64-bit count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pages.hpp"
#include "unicode.hpp"

namespace hf_bpe {

class WordCounts {
 public:
  // What a word is looked up by. Up to 15 bytes are the key themselves, with the length in the last byte; of longer words
  // the key is a hash, and the table adds where their bytes are kept.
  struct Key {
    std::uint64_t low, high;
  };

  WordCounts();

  std::size_t size() const { return size_; }

  // Adds one to the count of each word; the first begins at `text`, the others where the one before ends. As far as
  // `readable`, memory may be read beyond a word's end.
  void add_each(const Byte* text, const Byte* const* ends, std::size_t count, const Byte* readable);

  // Adds to the count of one word; throws std::overflow_error past 64 bits.
  void add(const Byte* word, std::size_t length, std::uint64_t count);
  void add(const WordCounts& other);

  // The count of a word, 0 if it is none.
  std::uint64_t find(const Byte* word, std::size_t length) const;

  // Words are numbered by slots of the table, of which some are empty: of count 0. Adding moves them.
  std::size_t slots() const { return entries_.size(); }
  std::uint64_t count_at(std::size_t slot) const { return entries_[slot].count; }
  std::size_t length_at(std::size_t slot) const;
  bool is_one_byte_at(std::size_t slot) const;  // without a look at long words
  // The bytes of the word, which `room`, of 16 bytes, may have to hold.
  const Byte* word_at(std::size_t slot, Byte* room) const;
  void prefetch(std::size_t slot) const { hf_bpe::prefetch(&entries_[slot]); }
  void prefetch_word(std::size_t slot) const;  // reads the slot

 private:
  struct Entry {
    Key key;
    std::uint64_t count;  // 0 for an empty slot
  };

  Key key_of(const Byte* word, std::size_t length) const;
  Key long_key(const Byte* word, std::size_t length) const;
  std::size_t slot_of(Key key) const;
  // The slot that holds the word, or the empty one where it belongs.
  std::size_t find_slot(Key key, std::size_t slot, const Byte* word, std::size_t length) const;
  void insert(Key key, std::size_t slot, const Byte* word, std::size_t length, std::uint64_t count);
  void grow();

  // Chosen anew for each table: so no text can be made to collide, and the words of one table, in the order of its slots,
  // are in no order for another, where they would fill one end first.
  std::uint64_t seeds_[2];
  Pages<Entry> entries_;  // a power of two of them, of which 5/8 are used at most
  unsigned shift_;        // the first bits of the hash are the slot
  std::size_t size_ = 0;
  std::vector<Byte> long_words_;  // of each its length, in 8 bytes, then its bytes; numbered by where those begin
};

}  // namespace hf_bpe
