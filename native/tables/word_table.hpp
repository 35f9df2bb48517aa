// A hash table keyed by pre-tokens: open addressing, words up to 15 bytes packed into their keys, batched lookups.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "support/hashing.hpp"
#include "support/pages.hpp"
#include "support/poll.hpp"
#include "text/unicode.hpp"

namespace hf_bpe {

static_assert(std::endian::native == std::endian::little, "keys are bytes in the order of memory");

// It grows by `kGrowthBits` bits, and by one from 8 MB on: larger growth spends less time on moving words, but more
// memory, and that can take a virtual machine milliseconds per huge page.
template <class Value, unsigned kGrowthBits>
class WordTable {
 public:
  // The lookup key of a word. Words of up to 15 bytes are the key themselves, with the length in the last byte; the key
  // of a longer word is a hash, and the table adds the position of its bytes. No word is empty.
  struct Key {
    std::uint64_t low, high;
  };
  struct Entry {
    Key key;
    Value value;
    bool is_empty() const { return key.high == 0; }
  };

  WordTable() : WordTable(kFirstBits) {}
  // Starts with 2**bits slots.
  explicit WordTable(unsigned bits) : entries_(std::size_t{1} << bits), shift_(64 - bits) {
    std::random_device device;
    for (std::uint64_t& seed : seeds_) seed = std::uint64_t{device()} << 32 | device() | 1;
  }

  std::size_t size() const { return size_; }

  // The memory of the words beyond 15 bytes.
  std::size_t long_bytes() const { return long_words_.size(); }

  // The number of words that fit before it grows; reserves room for the long ones among them.
  std::size_t capacity() const { return entries_.size() / 8 * 5; }
  void reserve_long_bytes(std::size_t bytes) { long_words_.reserve(bytes); }

  // Words are numbered by slots of the table, some of which are empty. Inserting moves words.
  std::size_t slots() const { return entries_.size(); }
  Entry& operator[](std::size_t slot) { return entries_[slot]; }
  const Entry& operator[](std::size_t slot) const { return entries_[slot]; }
  void prefetch(std::size_t slot) const { hf_bpe::prefetch(&entries_[slot]); }

  Key key_of(const Byte* word, std::size_t length) const {
    if (length > kLongest) return long_key(word, length);
    Byte room[16] = {};
    std::memcpy(room, word, length);
    return short_key(room, length);
  }

  std::size_t slot_of(Key key) const {
    return fold(key.low ^ seeds_[0], (is_long(key) ? kLong : key.high) ^ seeds_[1]) >> shift_;
  }

  // The slot that holds the word, or the empty one where it belongs; the search begins at `slot_of(key)`.
  std::size_t find_slot(Key key, std::size_t slot, const Byte* word, std::size_t length) const {
    for (;; slot = (slot + 1) & (entries_.size() - 1)) {
      const Entry& entry = entries_[slot];
      if (entry.is_empty()) return slot;
      if (entry.key.low != key.low) continue;
      if (!is_long(key)) {
        if (entry.key.high == key.high) return slot;
      } else if (is_long(entry.key)) {
        const Byte* kept = long_words_.data() + (entry.key.high ^ kLong);
        if (load(kept - 8) == length && std::memcmp(kept, word, length) == 0) return slot;
      }
    }
  }

  // The entry of a word that the empty `slot` was found for.
  Entry& insert(Key key, std::size_t slot, const Byte* word, std::size_t length, const Value& value) {
    if (size_ + 1 > capacity()) {  // before any change, because allocation may fail
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
    ++size_;
    return entries_[slot] = {key, value};
  }

  // Calls `visit(key, slot, word, length)` for each of several words, with the slot at which its search begins. The
  // first word begins at `text`, each other one where the preceding ends; memory may be read beyond their ends, up to
  // `readable`. Batched lookups hide the latency of memory.
  template <class Visit>
  void look_up(const Byte* text, const Byte* const* ends, std::size_t count, const Byte* readable, Visit visit) const {
    struct Pending {
      Key key;
      std::size_t slot;
    } pending[kBatch];
    for (std::size_t done = 0; done < count; done += kBatch) {
      const std::size_t batch = std::min(kBatch, count - done);
      const std::size_t slots = entries_.size();
      const bool is_large = slots * sizeof(Entry) > kLarge;  // and no near cache holds the next line of memory
      const Byte* word = text;
      for (std::size_t i = 0; i < batch; ++i) {
        const auto length = static_cast<std::size_t>(ends[done + i] - word);
        const bool may_load = length <= kLongest && readable - word >= 16;
        const Key key = may_load ? short_key(word, length) : key_of(word, length);
        pending[i] = {key, slot_of(key)};
        prefetch(pending[i].slot);
        if (is_large) prefetch((pending[i].slot + 1) & (slots - 1));
        word = ends[done + i];
      }
      word = text;
      for (std::size_t i = 0; i < batch; ++i) {
        const auto [key, slot] = pending[i];
        const Byte* end = ends[done + i];
        visit(key, entries_.size() == slots ? slot : slot_of(key), word, static_cast<std::size_t>(end - word));
        word = end;
      }
      text = word;
    }
  }

  std::size_t length_at(std::size_t slot) const {
    const Key& key = entries_[slot].key;
    return is_long(key) ? load(long_words_.data() + (key.high ^ kLong) - 8) : key.high >> 56;
  }

  // The bytes of the word, which `room`, of 16 bytes, may have to hold.
  const Byte* word_at(std::size_t slot, Byte* room) const {
    const Key& key = entries_[slot].key;
    if (is_long(key)) return long_words_.data() + (key.high ^ kLong);
    std::memcpy(room, &key, sizeof key);
    return room;
  }
  // Moves all words to the first slots, in byte order, in place. Nothing can be found or inserted afterwards; if `poll`
  // throws, the table is unusable.
  void sort(const PollFunction& poll) {
    PollInLoop polls(poll);
    std::size_t to = 0;
    for (Entry& entry : entries_) {
      if (!entry.is_empty()) entries_[to++] = entry;
    }
    // Meanwhile the lower half of each key is the word's first 8 bytes as a big-endian number.
    for (std::size_t slot = 0; slot < to; ++slot) {
      Key& key = entries_[slot].key;
      key.low = big_endian(is_long(key) ? load(bytes_at(key)) : key.low);
    }
    sort(entries_.begin(), entries_.begin() + to, 8, polls);
    for (std::size_t slot = 0; slot < to; ++slot) entries_[slot].key.low = big_endian(entries_[slot].key.low);
  }

  void prefetch_word(const Entry& entry) const {
    if (is_long(entry.key)) hf_bpe::prefetch(long_words_.data() + (entry.key.high ^ kLong) - 8);
  }

 private:
  static constexpr std::size_t kLongest = 15;  // bytes of a word that is its own key
  static constexpr std::uint64_t kLong = std::uint64_t{0xFF} << 56;
  static constexpr unsigned kFirstBits = 12;
  static constexpr std::size_t kBatch = 64;
  static constexpr std::size_t kLarge = std::size_t{8} << 20;  // bytes
  static constexpr std::size_t kWaiting = 1024;

  static bool is_long(Key key) { return key.high >= kLong; }

  // The key of a word of up to 15 bytes, if 16 may be read. Lengths are unpredictable, so there is no branch.
  static Key short_key(const Byte* word, std::size_t length) {
    constexpr std::uint64_t kAll = ~std::uint64_t{0};
    const std::size_t low = std::min<std::size_t>(length, 8) * 8;
    const std::size_t high = length * 8 - low;
    return {load(word) & kAll >> (64 - low), (load(word + 8) & ~(kAll << high)) | std::uint64_t{length} << 56};
  }

  Key long_key(const Byte* word, std::size_t length) const {
    std::uint64_t hash = fold(length ^ seeds_[0], seeds_[1]);
    const Byte* at = word;
    for (; word + length - at >= 16; at += 16) hash = fold(load(at) ^ hash, load(at + 8) ^ seeds_[1]);
    hash = fold(load(word + length - 16) ^ hash, load(word + length - 8) ^ seeds_[0]);
    return {hash, kLong};
  }

  static std::uint64_t big_endian(std::uint64_t bytes) {
#if defined(_MSC_VER) && !defined(__clang__)
    return _byteswap_uint64(bytes);
#else
    return __builtin_bswap64(bytes);
#endif
  }

  // Sorts words whose first 8 bytes are equal except for the last `left`: byte by byte (American flag sort: McIlroy,
  // Bostic and McIlroy, "Engineering Radix Sort", 1993), and a few words by comparisons.
  void sort(Entry* begin, Entry* end, unsigned left, PollInLoop& polls) {
    if (end - begin < 64 || left == 0) {
      std::sort(begin, end, [&](const Entry& a, const Entry& b) {
        polls();
        return is_before(a.key, b.key);
      });
      return;
    }
    polls(static_cast<std::size_t>(end - begin));
    const unsigned shift = 8 * --left;
    const auto byte_of = [shift](const Entry& entry) { return entry.key.low >> shift & 0xFF; };
    std::size_t sizes[256] = {};
    for (const Entry* entry = begin; entry != end; ++entry) ++sizes[byte_of(*entry)];
    Entry* next[256];  // for each byte, the position of its next word, and the end of its words
    Entry* ends[256];
    for (unsigned byte = 0; byte < 256; ++byte) {
      next[byte] = byte == 0 ? begin : ends[byte - 1];
      ends[byte] = next[byte] + sizes[byte];
    }
    for (unsigned byte = 0; byte < 256; ++byte) {
      while (next[byte] != ends[byte]) {
        Entry*& home = next[byte_of(*next[byte])];
        if (home != next[byte]) std::swap(*next[byte], *home);
        ++home;
      }
    }
    for (unsigned byte = 0; byte < 256; ++byte) sort(ends[byte] - sizes[byte], ends[byte], left, polls);
  }

  // The order of words in `sort`.
  bool is_before(const Key& a, const Key& b) const {
    if (a.low != b.low) return a.low < b.low;
    if (!is_long(a) && !is_long(b)) return big_endian(a.high) < big_endian(b.high);  // the length decides last
    if (!is_long(a) || !is_long(b)) {
      // If a short word, padded with zeros, shares its first 15 bytes with a long one, the long one continues it.
      const std::uint64_t seven_of_a = big_endian(is_long(a) ? load(bytes_at(a) + 8) : a.high) >> 8;
      const std::uint64_t seven_of_b = big_endian(is_long(b) ? load(bytes_at(b) + 8) : b.high) >> 8;
      return seven_of_a != seven_of_b ? seven_of_a < seven_of_b : is_long(b);
    }
    const std::size_t length_of_a = load(bytes_at(a) - 8), length_of_b = load(bytes_at(b) - 8);
    const int order = std::memcmp(bytes_at(a), bytes_at(b), std::min(length_of_a, length_of_b));
    return order != 0 ? order < 0 : length_of_a < length_of_b;
  }
  const Byte* bytes_at(const Key& key) const { return long_words_.data() + (key.high ^ kLong); }

  // In place, so that only what is added is new memory. The order of slots is that of hashes, so words move up, into
  // slots that are done if clusters are taken from the last to the first; the first ones, which may begin at the end
  // and whose new place is near the old one, wait. Within a cluster the first word goes first: it came first, so it is
  // the most frequent one and should stay where the search for it begins.
  void grow() {
    const unsigned bits = slots() * sizeof(Entry) < kLarge ? kGrowthBits : 1;
    const std::size_t old_slots = slots();
    std::size_t first = std::min(kWaiting, old_slots);
    while (first < old_slots && !entries_[first].is_empty()) ++first;
    std::vector<Entry> waiting(entries_.begin(), entries_.begin() + first);
    entries_.grow(old_slots << bits);
    shift_ -= bits;
    std::fill_n(entries_.begin(), first, Entry{});
    const auto place = [this](const Entry& entry) {
      std::size_t slot = slot_of(entry.key);
      while (!entries_[slot].is_empty()) slot = (slot + 1) & (entries_.size() - 1);
      entries_[slot] = entry;
    };
    for (std::size_t end = old_slots; end > first; --end) {
      const std::size_t next = end;
      while (!entries_[end - 1].is_empty()) --end;  // down to the slot before a cluster, which is empty
      for (std::size_t at = end; at < next; ++at) {
        const Entry entry = std::exchange(entries_[at], Entry{});
        if (next <= 2 * end) {
          place(entry);
        } else {  // a cluster of more than kWaiting words, which does not happen
          waiting.push_back(entry);
        }
      }
    }
    for (const Entry& entry : waiting) {
      if (!entry.is_empty()) place(entry);
    }
  }

  // Chosen randomly for each table, so that no text can be constructed to collide.
  std::uint64_t seeds_[2];
  Pages<Entry> entries_;  // a power of two, at most 5/8 used
  unsigned shift_;        // the first bits of the hash are the slot
  std::size_t size_ = 0;
  std::vector<Byte> long_words_;  // for each its length, in 8 bytes, then its bytes; identified by their position
};

}  // namespace hf_bpe
