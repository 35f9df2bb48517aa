#include "count/word_counts.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>

namespace hf_bpe {
namespace {

// For a table whose slots take up to three quarters of the memory; the rest is for long words.
unsigned bits_for(std::size_t memory, std::size_t slot_bytes) {
  return static_cast<unsigned>(std::bit_width(std::max<std::size_t>(memory / 4 * 3 / slot_bytes, 1 << 10))) - 1;
}

}  // namespace

WordCounts::WordCounts(std::size_t memory) : table_(bits_for(memory, sizeof(Table::Entry))) {
  const std::size_t slots = table_.slots() * sizeof(Table::Entry);
  long_bytes_ = memory > slots ? memory - slots : 0;
  table_.reserve_long_bytes(long_bytes_);
}

bool WordCounts::is_full(std::size_t text_bytes) const {
  // There are few words of less than three bytes. A long one has at least 16, and 8 are added to it.
  return size() != 0 && (size() + text_bytes / 3 > table_.capacity() ||
                         table_.long_bytes() + text_bytes + text_bytes / 2 > long_bytes_);
}

void WordCounts::add(Table::Key key, std::size_t slot, const Byte* word, std::size_t length, std::uint64_t count) {
  slot = table_.find_slot(key, slot, word, length);
  if (table_[slot].is_empty()) {
    table_.insert(key, slot, word, length, count);
    return;
  }
  std::uint64_t& sum = table_[slot].value;
  if (count > std::numeric_limits<std::uint64_t>::max() - sum) {
    throw std::overflow_error("a pre-token was counted more than 2**64 - 1 times");
  }
  sum += count;
}

void WordCounts::add_each(const Byte* text, const Byte* const* ends, std::size_t count, const Byte* readable,
                          std::uint64_t weight) {
  const auto add_one = [this, weight](Table::Key key, std::size_t slot, const Byte* word, std::size_t length) {
    Table::Entry& entry = table_[slot];
    if (entry.key.low == key.low && entry.key.high == key.high) {
      entry.value += weight;
    } else {
      add(key, slot, word, length, weight);
    }
  };
  table_.look_up(text, ends, count, readable, add_one);
}

void WordCounts::add(const Byte* word, std::size_t length, std::uint64_t count) {
  if (count == 0) return;
  const Table::Key key = table_.key_of(word, length);
  add(key, table_.slot_of(key), word, length, count);
}

void WordCounts::for_each(const Visit& visit) const {
  constexpr std::size_t kAhead = 16;  // the order of long words is unpredictable for the prefetcher
  Byte room[16];
  for (std::size_t slot = 0; slot < slots(); ++slot) {
    if (slot + kAhead < slots()) table_.prefetch_word(table_[slot + kAhead]);
    if (count_at(slot) != 0) visit(word_at(slot, room), length_at(slot), count_at(slot));
  }
}

}  // namespace hf_bpe
