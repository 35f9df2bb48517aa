// The ids of pre-tokens: merging with a bounded cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "merge/interleaved.hpp"
#include "merge/word_merging.hpp"
#include "tables/word_table.hpp"

namespace hf_bpe {

// For one thread. `Id` is an integer type that fits all ids.
template <class Id>
class WordIds {
  static constexpr std::size_t kInline = 16 / sizeof(Id) - 1;

  struct Ids {
    Id ids[kInline];  // or their position in `long_`, or the position of the word in `missed_`
    Id size;          // 0 for a word that is not merged yet
    Ids() = default;
    Ids(std::size_t size, std::uint32_t place) : ids{}, size(static_cast<Id>(size)) {
      std::memcpy(ids, &place, sizeof place);
    }
    std::uint32_t place() const {
      std::uint32_t place;
      std::memcpy(&place, ids, sizeof place);
      return place;
    }
  };
  static_assert(sizeof(Ids) == 16);
  struct CutWord {
    std::size_t missed, pieces;  // its place among the words that were missed; the number of its pieces
  };
  struct Gap {
    std::uint32_t* begin;
    std::size_t missed;  // the word whose ids belong here
    const Byte* word;    // its place in the text
  };
  using Table = WordTable<Ids, 2>;
  using Key = typename Table::Key;
  using Entry = typename Table::Entry;

 public:
  // `long_pieces`: null if long words are merged as a whole. `finds_whole_words`: whether the vocabulary's whole words
  // are looked up before merging; not with dropout. `cuts_words`: whether words that are not in the cache may be cut.
  WordIds(const Vocabulary& vocabulary, const LazyBacktracking& backtracking, const LazyLongPieces* long_pieces,
          Simd simd = widest_simd(), bool finds_whole_words = true, bool cuts_words = true)
      : vocabulary_(vocabulary),
        merge_tables_(vocabulary.merge_tables()),
        merge_interleaved_(interleaved_for(simd)),
        merger_(vocabulary, backtracking, long_pieces, simd),
        finds_whole_words_(finds_whole_words && vocabulary.has_whole_words()),
        cuts_words_(cuts_words) {}

  // Ids are also written beyond the last one: this much room is needed beyond the number of bytes.
  static constexpr std::size_t kSlack = 16;

  // Writes the ids of consecutive words and returns their end. `draws` is NoDraws or, for BPE-dropout, TextDraws. Then
  // the cache still has the ids without dropout: those of a word that draws no skip until its last merge.
  template <class Draws = NoDraws>
  std::uint32_t* encode(const Byte* text, const Byte* const* ends, std::size_t count, const Byte* readable,
                        std::uint32_t* out, const PollFunction& poll, const Draws& draws = {}) {
    if (is_full(count) || !missed_keys_.empty()) flush();  // or the last call was interrupted
    out = look_up(text, ends, count, readable, out, poll, draws);
    return gaps_.empty() ? out : fill_gaps(out, {}, draws);
  }

  // Several calls of `encode_later` do the same for words of several texts, but the words that are not in the cache are
  // only merged by `finish`, together. Until then neither texts nor ids may move, and where ids end is preliminary.
  void begin_waiting() {
    if (!missed_keys_.empty()) flush();  // the last call was interrupted
  }
  // Whether as many words may be looked up before the next `finish`.
  bool may_wait(std::size_t words) const { return missed_.size() < kMaxWaiting && !is_full(words); }
  std::uint32_t* encode_later(const Byte* text, const Byte* const* ends, std::size_t count, const Byte* readable,
                              std::uint32_t* out, const PollFunction& poll) {
    return look_up(text, ends, count, readable, out, poll, NoDraws());
  }
  // Returns the end of the ids, and corrects the ends of texts among them, which are in ascending order.
  std::uint32_t* finish(std::uint32_t* end, std::span<std::uint32_t*> text_ends) {
    return gaps_.empty() ? end : fill_gaps(end, text_ends, NoDraws());
  }

  // The memory of the cache.
  std::size_t bytes() const { return table_.slots() * sizeof(Entry) + table_.long_bytes() + long_.size() * sizeof(Id); }

 private:
  static constexpr std::size_t kMaxWaiting = 256;  // about that many missed words; more would leave the nearest caches

  // The cache is flushed before the table exceeds 32 MB or the rest 16 MB; the cache of pieces of words, which
  // are fewer, before a sixteenth of that.
  static constexpr std::size_t kMaxWords = (std::size_t{1} << 20) / 8 * 5;
  static constexpr std::size_t kMaxLongBytes = std::size_t{16} << 20;
  static constexpr std::size_t kLongestWord = 256;
  // The keys of words up to this size are their bytes. A longer one that is cut is not in the cache: it may not recur,
  // and its pieces are found as fast.
  static constexpr std::size_t kLongestCached = 15;

  bool is_full(std::size_t words) const {
    const std::size_t parts = cuts_words_ ? 1 : 16;
    return table_.size() + words > kMaxWords / parts ||
           bytes() - table_.slots() * sizeof(Entry) > kMaxLongBytes / parts;
  }

  void flush() {
    table_ = Table();
    long_.clear();
    missed_.clear();
    missed_keys_.clear();
    gaps_.clear();
    cut_words_.clear();
    piece_ends_.clear();
  }

  // Writes the ids of the words that are in the cache, and leaves gaps for the others.
  template <class Draws>
  std::uint32_t* look_up(const Byte* text, const Byte* const* ends, std::size_t count, const Byte* readable,
                         std::uint32_t* out, const PollFunction& poll, const Draws& draws) {
    table_.look_up(text, ends, count, readable, [&](Key key, std::size_t slot, const Byte* word, std::size_t length) {
      const Entry& entry = table_[slot];
      if (entry.key.low == key.low && entry.key.high == key.high) {
        out = write(entry.value, key, word, length, out, draws);
      } else {
        out = find(key, slot, word, length, readable, out, poll, draws);
      }
    });
    return out;
  }

  std::uint32_t* write(const Ids& value, Key, const Byte* word, std::size_t, std::uint32_t* out, NoDraws) {
    return value.size == 0 ? leave_gap(value.place(), word, out) : write(value, out);
  }

  std::uint32_t* write(const Ids& value, Key key, const Byte* word, std::size_t length, std::uint32_t* out,
                       const TextDraws& draws) {
    if (value.size == 0) return leave_gap(value.place(), word, out);
    const WordDraws of_word(draws, word);
    return of_word.keeps(length - value.size) ? write(value, out)
                                              : out + merger_.drop(key.low, key.high, word, length, of_word, out);
  }

  std::uint32_t* write(const Ids& value, std::uint32_t* out) {
    if (value.size - 1u < kInline) {
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

  // Writes the ids of a word that is not where its search begins, or leaves a gap. It is not inlined, because the loop
  // that calls it needs the registers.
  template <class Draws>
  [[gnu::noinline]] std::uint32_t* find(Key key, std::size_t slot, const Byte* word, std::size_t length,
                                        const Byte* readable, std::uint32_t* out, const PollFunction& poll,
                                        const Draws& draws) {
    constexpr bool kDraws = std::is_same_v<Draws, TextDraws>;
    slot = table_.find_slot(key, slot, word, length);
    if (!table_[slot].is_empty()) return write(table_[slot].value, key, word, length, out, draws);
    const bool drops_bytes = vocabulary_.lacks_bytes() && vocabulary_.drops_missing_bytes();
    // Text of models of characters is cut at the same places before.
    const bool cuts = !kDraws && cuts_words_ && !drops_bytes && !vocabulary_.is_of_characters();
    if (cuts && !is_ascii(key, word, length)) {
      if (length > kLongestInterleaved) {
        if (has_short_pieces(word, length)) return encode_pieces(word, length, readable, out, poll);
      } else if (const std::size_t pieces = cut(word, length); pieces != 0) {
        const std::size_t place = missed_.size();
        const bool is_cached = length <= kLongestCached;
        cut_words_.push_back({place, pieces});
        missed_.push_back({word, out, length, 0, readable});
        missed_keys_.push_back(is_cached ? key : Key{});
        if (is_cached) table_.insert(key, slot, word, length, Ids(0, static_cast<std::uint32_t>(place)));
        return leave_gap(place, word, out);
      }
    }
    std::size_t size = 1;
    std::uint32_t whole = Vocabulary::kMissing;
    if (length <= kLongestInterleaved && !drops_bytes) {
      if (finds_whole_words_) vocabulary_.prefetch_whole_word(word, length);
      const auto place = static_cast<std::uint32_t>(missed_.size());
      missed_keys_.push_back(key);
      missed_.push_back({word, out, length, 0, readable});
      table_.insert(key, slot, word, length, Ids(0, place));
      return leave_gap(place, word, out);
    }
    if (finds_whole_words_ && (whole = vocabulary_.whole_word(word, length)) != Vocabulary::kMissing) {
      *out = whole;
    } else {
      size = drops_bytes ? merger_.write_known(word, length, out, poll, draws)
                         : merger_.write(word, length, word, out, poll, draws);
      if (kDraws) return out + size;
    }
    // Long pieces are as many as sentences, and have a cache of words.
    const bool recurs = length <= kLongestInterleaved || (length <= kLongestWord && !merger_.has_long_pieces());
    if (recurs) table_.insert(key, slot, word, length, ids_of(out, size));
    return out + size;
  }

  // Of a long word only the beginning is looked at.
  static bool is_ascii(Key key, const Byte* word, std::size_t length) {
    constexpr std::uint64_t kHighest = 0x8080808080808080;
    if (length <= kLongestCached) return ((key.low | key.high << 8) & kHighest) == 0;
    std::uint64_t bits = load(word + std::min(length, kLongestInterleaved) - 8);
    for (std::size_t at = 0; at + 8 < std::min(length, kLongestInterleaved); at += 8) bits |= load(word + at);
    return (bits & kHighest) == 0;
  }

  // Whether pieces are short: longer ones do not recur.
  static bool are_short(std::size_t pieces, std::size_t bytes) { return pieces > 1 && pieces * 8 >= bytes; }

  bool has_short_pieces(const Byte* word, std::size_t length) const {
    const Byte* ends[16];
    const std::size_t pieces = vocabulary_.joins().cut(word, word + length, ends, std::size(ends));
    return are_short(pieces, static_cast<std::size_t>(ends[pieces - 1] - word));
  }

  // Adds the ends of the pieces of a word of up to kLongestInterleaved bytes to `piece_ends_` and returns their number,
  // 0 if they are not short.
  std::size_t cut(const Byte* word, std::size_t length) {
    const std::size_t before = piece_ends_.size();
    piece_ends_.resize(before + length);
    const std::size_t pieces = vocabulary_.joins().cut(word, word + length, &piece_ends_[before], length);
    const bool is_cut = are_short(pieces, length);
    piece_ends_.resize(is_cut ? before + pieces : before);
    return is_cut ? pieces : 0;
  }

  // Writes the ids of the pieces of a long word and returns their end.
  std::uint32_t* encode_pieces(const Byte* word, std::size_t length, const Byte* readable, std::uint32_t* out,
                               const PollFunction& poll) {
    constexpr std::size_t kPieces = 256;
    const Byte* ends[kPieces];
    for (const Byte* const end = word + length; word != end;) {
      const std::size_t pieces = vocabulary_.joins().cut(word, end, ends, kPieces);
      out = piece_ids().encode(word, ends, pieces, readable, out, poll);
      word = ends[pieces - 1];
    }
    return out;
  }

  // Writes the ids of the short words that are cut where those of the merged words are written.
  void encode_cut_words() {
    WordIds& pieces = piece_ids();
    pieces.begin_waiting();
    std::size_t bytes = 0;
    for (const CutWord& cut : cut_words_) bytes += missed_[cut.missed].length;
    if (ids_of_pieces_.size() < bytes + kSlack) ids_of_pieces_.resize(bytes + kSlack);
    std::uint32_t* out = ids_of_pieces_.data();
    std::size_t done = 0;  // words
    const auto finish = [&] {
      pieces.finish(out, cut_ends_);
      const std::uint32_t* begin = ids_of_pieces_.data();
      for (const std::uint32_t* end : cut_ends_) {
        PendingWord& word = missed_[cut_words_[done++].missed];
        std::copy(begin, end, word.out);
        word.size = static_cast<std::size_t>(end - begin);
        begin = end;
      }
      cut_ends_.clear();
      out = ids_of_pieces_.data();
    };
    cut_ends_.clear();
    const Byte* const* ends = piece_ends_.data();
    for (std::size_t i = 0; i < cut_words_.size(); ++i) {
      const auto [missed, count] = cut_words_[i];
      if (!pieces.may_wait(count)) finish();
      if (pieces.is_full(count)) pieces.flush();
      const PendingWord& word = missed_[missed];
      out = pieces.encode_later(word.word, ends, count, word.readable, out, kNoPoll);
      cut_ends_.push_back(out);
      ends += count;
    }
    finish();
  }

  WordIds& piece_ids() {
    if (!piece_ids_) {
      piece_ids_ =
          std::make_unique<WordIds>(vocabulary_, merger_.backtracking, merger_.long_pieces, merger_.simd, false, false);
    }
    return *piece_ids_;
  }

  // Words are merged together after all have been looked up. Until then there is room for as many ids as there can be.
  std::uint32_t* leave_gap(std::size_t missed, const Byte* word, std::uint32_t* out) {
    gaps_.push_back({out, missed, word});
    return out + missed_[missed].length;
  }

  // Fills the gaps, closes what is left of them, and returns the new end of the ids. Corrects `text_ends`.
  template <class Draws>
  std::uint32_t* fill_gaps(const std::uint32_t* end, std::span<std::uint32_t*> text_ends, const Draws& draws) {
    if (!cut_words_.empty()) encode_cut_words();
    if (finds_whole_words_) {
      for (PendingWord& word : missed_) {
        if (word.size != 0) continue;
        const std::uint32_t id = vocabulary_.whole_word(word.word, word.length);
        if (id == Vocabulary::kMissing) continue;
        *word.out = id;
        word.size = 1;
      }
    }
    merge_interleaved_(merge_tables_, missed_.data(), missed_.size());
    for (std::size_t i = 0; i < missed_.size(); ++i) {
      missed_[i].size = vocabulary_.expand(missed_[i].out, missed_[i].size);
      const auto& [word, ids, length, size, readable] = missed_[i];
      const Key key = missed_keys_[i];
      if (key.high == 0) continue;  // not in the cache
      table_[table_.find_slot(key, table_.slot_of(key), word, length)].value = ids_of(ids, size);
    }
    std::uint32_t* out = gaps_.front().begin;
    auto text_end = std::upper_bound(text_ends.begin(), text_ends.end(), out);
    for (std::size_t i = 0; i < gaps_.size(); ++i) {
      PendingWord& word = missed_[gaps_[i].missed];
      const std::uint32_t* const rest = gaps_[i].begin + word.length;
      const std::uint32_t* const next = i + 1 < gaps_.size() ? gaps_[i + 1].begin : end;
      out += fill(gaps_[i], word, out, draws);
      std::memmove(out, rest, static_cast<std::size_t>(next - rest) * sizeof *out);
      for (; text_end != text_ends.end() && *text_end <= next; ++text_end) *text_end = out + (*text_end - rest);
      out += next - rest;
    }
    missed_.clear();
    missed_keys_.clear();
    gaps_.clear();
    cut_words_.clear();
    piece_ends_.clear();
    return out;
  }

  // Writes the ids of a gap's word, not beyond their end, and returns their number.
  std::size_t fill(const Gap&, PendingWord& word, std::uint32_t* out, NoDraws) {
    std::memmove(out, word.out, word.size * sizeof *out);
    word.out = out;  // where the next gap for this word finds them
    return word.size;
  }

  std::size_t fill(const Gap& gap, const PendingWord& word, std::uint32_t* out, const TextDraws& draws) {
    const Key key = missed_keys_[gap.missed];
    std::uint32_t ids[kLongestInterleaved + kSlack];
    const Ids& value = table_[table_.find_slot(key, table_.slot_of(key), word.word, word.length)].value;
    const std::uint32_t* ids_end = write(value, key, gap.word, word.length, ids, draws);
    std::copy(static_cast<const std::uint32_t*>(ids), ids_end, out);
    return static_cast<std::size_t>(ids_end - ids);
  }

  Ids ids_of(const std::uint32_t* ids, std::size_t size) {
    if (size > kInline) {
      const auto place = static_cast<std::uint32_t>(long_.size());
      long_.resize(long_.size() + (size + kSlack - 1) / kSlack * kSlack);
      for (std::size_t i = 0; i < size; ++i) long_[place + i] = static_cast<Id>(ids[i]);
      return Ids(size, place);
    }
    Ids value(size, 0);
    for (std::size_t i = 0; i < size; ++i) value.ids[i] = static_cast<Id>(ids[i]);
    return value;
  }

  const Vocabulary& vocabulary_;
  const MergeTables merge_tables_;
  const MergeInterleaved merge_interleaved_;
  WordMerger merger_;
  const bool finds_whole_words_, cuts_words_;
  std::vector<PendingWord> missed_;  // words that are not merged yet, and their keys
  std::vector<Key> missed_keys_;
  std::vector<Gap> gaps_;
  std::vector<CutWord> cut_words_;       // missed words that are cut
  std::vector<const Byte*> piece_ends_;  // of all of them
  std::vector<std::uint32_t> ids_of_pieces_;
  std::vector<std::uint32_t*> cut_ends_;  // of the ids of each word
  std::unique_ptr<WordIds> piece_ids_;
  Table table_;
  std::vector<Id> long_;  // ids of words that do not fit their entry, each padded to a multiple of kSlack
};

}  // namespace hf_bpe
