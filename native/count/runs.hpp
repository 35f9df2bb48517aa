// Sorted runs: distinct words in byte order, each with its count, in files and in merges. Reading a run needs only the
// memory of its longest word.
// A run is a sequence of records, with nothing before, between or after them:
// varint: length of the common prefix with the preceding word (the longest)
// varint: number of further bytes                               (one or more)
// the further bytes
// varint: the count                                             (one or more)
// where a varint has seven bits per byte, the lowest first, and the high bit set in all bytes but the last (LEB128). So
// equal counts are equal bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "count/word_counts.hpp"
#include "count/words.hpp"

namespace hf_bpe {

// Iterates over words in byte order.
class SortedWords {
 public:
  virtual ~SortedWords() = default;

  // Advances to the next word, initially the first; false if there is none.
  virtual bool next() = 0;

  // The word; its bytes are valid until `next`.
  const Byte* word() const { return word_; }
  std::size_t length() const { return length_; }
  std::uint64_t count() const { return count_; }

 protected:
  const Byte* word_ = nullptr;
  std::size_t length_ = 0;
  std::uint64_t count_ = 0;
};

// The words of a run that is read piece by piece.
class RunReader : public SortedWords {
 public:
  // Writes up to `room` bytes to `to` and returns their number; 0 only at the end.
  using Refill = std::function<std::size_t(Byte* to, std::size_t room)>;

  explicit RunReader(Refill refill, std::size_t buffer_bytes = std::size_t{1} << 16)
      : refill_(std::move(refill)), buffer_(buffer_bytes) {}

  // Throws std::invalid_argument for an invalid run.
  bool next() override;

 private:
  bool is_at_end();
  Byte byte();
  std::uint64_t varint();

  Refill refill_;
  std::vector<Byte> buffer_;
  std::size_t at_ = 0, end_ = 0;  // the rest of the buffer
  std::vector<Byte> bytes_;       // the bytes of the word
};

// The words of a run, for several iterations.
class RunWords : public Words {
 public:
  // `open` returns a reader of the run from its beginning.
  explicit RunWords(std::function<RunReader::Refill()> open) : open_(std::move(open)) {}
  void for_each(const Visit& visit) const override;

 private:
  std::function<RunReader::Refill()> open_;
};

// A run that is read piece by piece.
class MergedRun {
 public:
  virtual ~MergedRun() = default;

  // Writes the next piece of the run to `piece`: at least `bytes` bytes, fewer only at the end, then none. Throws
  // std::overflow_error if a sum exceeds 64 bits, and the exceptions of the words and of `poll`.
  virtual void read(std::size_t bytes, std::string& piece, const PollFunction& poll) = 0;

  // The number of words written so far, and the sum of their counts, which may have 128 bits.
  std::uint64_t words() const { return words_; }
  std::uint64_t total_low() const { return total_low_; }
  std::uint64_t total_high() const { return total_high_; }

 protected:
  void add(std::uint64_t words, std::uint64_t low, std::uint64_t high) {
    words_ += words;
    total_low_ += low;
    total_high_ += high + (total_low_ < low);
  }

 private:
  std::uint64_t words_ = 0, total_low_ = 0, total_high_ = 0;
};

// Writes the merge of sorted words.
class RunMerger : public MergedRun {
 public:
  struct Input {
    std::unique_ptr<SortedWords> words;
    std::uint64_t multiplier = 1;  // the factor of its counts
  };

  // Words whose sum is below `least` are dropped. `before`: the word that the run continues after.
  explicit RunMerger(std::vector<Input> inputs, std::uint64_t least = 1, std::vector<Byte> before = {});

  void read(std::size_t bytes, std::string& piece, const PollFunction& poll) override;

 private:
  struct Head {
    std::uint64_t prefix;  // the first bytes of the word, which distinguish most words
    std::size_t input;
  };

  bool comes_after(const Head& a, const Head& b) const;
  void advance(std::size_t input);
  std::uint64_t count_of(std::size_t input) const;
  std::uint64_t take(std::size_t input);
  void write(const Byte* word, std::size_t length, std::uint64_t count, std::string& piece);

  std::vector<Input> inputs_;
  std::uint64_t least_;
  std::vector<Head> heap_;         // the inputs with a word, the least word in front
  std::vector<Byte> word_, last_;  // the current word, and the last one written
};

// Writes the merge of tables, with a thread for each: ranges of their words, in byte order, are merged at the same
// time.
class TableMerger : public MergedRun {
 public:
  // Sorts the tables. If `poll` throws, the words are lost.
  TableMerger(std::vector<WordCounts> tables, const PollFunction& poll, std::size_t words_of_range = kWords);

  void read(std::size_t bytes, std::string& piece, const PollFunction& poll) override;

 private:
  static constexpr std::size_t kWords = std::size_t{1} << 16;  // of a table

  using Places = std::vector<std::size_t>;  // a word of each table, or its end

  Places places_from(std::size_t table, std::size_t slot) const;
  std::vector<Byte> word_before(const Places& places) const;
  std::vector<Places> next_ranges() const;

  std::vector<WordCounts> tables_;
  Places next_;  // the words that are not written yet
  std::size_t words_of_range_;
};

}  // namespace hf_bpe
