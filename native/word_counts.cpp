#include "word_counts.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <random>
#include <stdexcept>

#include "hashing.hpp"

namespace hf_bpe {
namespace {

static_assert(std::endian::native == std::endian::little, "keys are bytes in the order of memory");

using Key = WordCounts::Key;

constexpr std::size_t kLongest = 15;  // bytes of a word that is its own key
constexpr std::uint64_t kLong = std::uint64_t{0xFF} << 56;
constexpr unsigned kFirstBits = 12;
constexpr std::size_t kBatch = 64;  // words looked up together, which hides the wait for memory

bool is_long(Key key) { return key.high >= kLong; }

std::uint64_t load(const Byte* bytes) {
  std::uint64_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// The first `bytes` bytes of a number that was loaded, of 0 to 7.
std::uint64_t first(std::uint64_t value, std::size_t bytes) { return value & ((std::uint64_t{1} << bytes * 8) - 1); }

// The key of a word of up to 15 bytes, where 16 may be read.
Key short_key(const Byte* word, std::size_t length) {
  const std::uint64_t tag = std::uint64_t{length} << 56;
  if (length < 8) return {first(load(word), length), tag};
  return {load(word), first(load(word + 8), length - 8) | tag};
}

std::uint64_t checked_sum(std::uint64_t a, std::uint64_t b) {
  if (a > std::numeric_limits<std::uint64_t>::max() - b) {
    throw std::overflow_error("a pre-token was counted more than 2**64 - 1 times");
  }
  return a + b;
}

}  // namespace

WordCounts::WordCounts() : entries_(std::size_t{1} << kFirstBits), shift_(64 - kFirstBits) {
  std::random_device device;
  for (std::uint64_t& seed : seeds_) seed = std::uint64_t{device()} << 32 | device() | 1;
}

Key WordCounts::key_of(const Byte* word, std::size_t length) const {
  if (length > kLongest) return long_key(word, length);
  Byte room[16] = {};
  std::memcpy(room, word, length);
  return short_key(room, length);
}

Key WordCounts::long_key(const Byte* word, std::size_t length) const {
  std::uint64_t hash = fold(length ^ seeds_[0], seeds_[1]);
  const Byte* at = word;
  for (; word + length - at >= 16; at += 16) hash = fold(load(at) ^ hash, load(at + 8) ^ seeds_[1]);
  hash = fold(load(word + length - 16) ^ hash, load(word + length - 8) ^ seeds_[0]);
  return {hash, kLong};
}

std::size_t WordCounts::slot_of(Key key) const {
  return fold(key.low ^ seeds_[0], (is_long(key) ? kLong : key.high) ^ seeds_[1]) >> shift_;
}

std::size_t WordCounts::find_slot(Key key, std::size_t slot, const Byte* word, std::size_t length) const {
  for (;; slot = (slot + 1) & (entries_.size() - 1)) {
    const Entry& entry = entries_[slot];
    if (entry.count == 0) return slot;
    if (entry.key.low != key.low) continue;
    if (!is_long(key)) {
      if (entry.key.high == key.high) return slot;
    } else if (is_long(entry.key)) {
      const Byte* kept = long_words_.data() + (entry.key.high ^ kLong);
      if (load(kept - 8) == length && std::memcmp(kept, word, length) == 0) return slot;
    }
  }
}

void WordCounts::insert(Key key, std::size_t slot, const Byte* word, std::size_t length, std::uint64_t count) {
  slot = find_slot(key, slot, word, length);
  if (Entry& entry = entries_[slot]; entry.count != 0) {
    entry.count = checked_sum(entry.count, count);
    return;
  }
  if (size_ + 1 > entries_.size() / 8 * 5) {  // before anything changes: there may be no memory
    grow();
    slot = find_slot(key, slot_of(key), word, length);
  }
  if (is_long(key)) {
    const std::uint64_t size = length;
    const auto* bytes = reinterpret_cast<const Byte*>(&size);
    key.high |= long_words_.size() + sizeof size;
    long_words_.insert(long_words_.end(), bytes, bytes + sizeof size);
    long_words_.insert(long_words_.end(), word, word + length);
  }
  entries_[slot] = {key, count};
  ++size_;
}

void WordCounts::grow() {
  Pages<Entry> old(entries_.size() * 2);
  std::swap(old, entries_);
  --shift_;
  for (const Entry& entry : old) {
    if (entry.count == 0) continue;
    std::size_t slot = slot_of(entry.key);
    while (entries_[slot].count != 0) slot = (slot + 1) & (entries_.size() - 1);
    entries_[slot] = entry;
  }
}

void WordCounts::add_each(const Byte* text, const Byte* const* ends, std::size_t count, const Byte* readable) {
  struct Pending {
    Key key;
    std::size_t slot;
  } pending[kBatch];
  for (std::size_t done = 0; done < count; done += kBatch) {
    const std::size_t batch = std::min(kBatch, count - done);
    const std::size_t slots = entries_.size();
    const Byte* word = text;
    for (std::size_t i = 0; i < batch; ++i) {
      const std::size_t length = static_cast<std::size_t>(ends[done + i] - word);
      const bool may_load = length <= kLongest && readable - word >= 16;
      const Key key = may_load ? short_key(word, length) : key_of(word, length);
      pending[i] = {key, slot_of(key)};
      prefetch(pending[i].slot);
      word = ends[done + i];
    }
    word = text;
    for (std::size_t i = 0; i < batch; ++i) {
      const auto [key, slot] = pending[i];
      Entry& entry = entries_[entries_.size() == slots ? slot : slot_of(key)];
      if (entry.key.low == key.low && entry.key.high == key.high && entry.count != 0) {
        ++entry.count;
      } else {
        const std::size_t length = static_cast<std::size_t>(ends[done + i] - word);
        insert(key, static_cast<std::size_t>(&entry - entries_.data()), word, length, 1);
      }
      word = ends[done + i];
    }
    text = word;
  }
}

void WordCounts::add(const Byte* word, std::size_t length, std::uint64_t count) {
  if (count == 0) return;
  const Key key = key_of(word, length);
  insert(key, slot_of(key), word, length, count);
}

void WordCounts::add(const WordCounts& other) {
  struct Pending {
    Key key;
    std::size_t slot, from;
  } pending[kBatch];
  Byte room[16];
  for (std::size_t from = 0; from < other.slots();) {
    std::size_t batch = 0;
    for (; from < other.slots() && batch < kBatch; ++from) {
      const Entry& entry = other.entries_[from];
      if (entry.count == 0) continue;
      const bool is_short = !is_long(entry.key);  // which is the same in every table
      const Key key = is_short ? entry.key : long_key(other.word_at(from, room), other.length_at(from));
      pending[batch++] = {key, slot_of(key), from};
      prefetch(pending[batch - 1].slot);
    }
    const std::size_t slots = entries_.size();
    for (std::size_t i = 0; i < batch; ++i) {
      const auto [key, slot, at] = pending[i];
      insert(key, entries_.size() == slots ? slot : slot_of(key), other.word_at(at, room), other.length_at(at),
             other.count_at(at));
    }
  }
}

std::uint64_t WordCounts::find(const Byte* word, std::size_t length) const {
  const Key key = key_of(word, length);
  return entries_[find_slot(key, slot_of(key), word, length)].count;
}

std::size_t WordCounts::length_at(std::size_t slot) const {
  const Key& key = entries_[slot].key;
  return is_long(key) ? load(long_words_.data() + (key.high ^ kLong) - 8) : key.high >> 56;
}

void WordCounts::prefetch_word(std::size_t slot) const {
  const Key& key = entries_[slot].key;
  if (is_long(key)) hf_bpe::prefetch(long_words_.data() + (key.high ^ kLong) - 8);
}

bool WordCounts::is_one_byte_at(std::size_t slot) const { return entries_[slot].key.high >> 56 == 1; }

const Byte* WordCounts::word_at(std::size_t slot, Byte* room) const {
  const Key& key = entries_[slot].key;
  if (is_long(key)) return long_words_.data() + (key.high ^ kLong);
  std::memcpy(room, &key, sizeof key);
  return room;
}

}  // namespace hf_bpe
