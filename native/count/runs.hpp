// Sorted runs: distinct words in the order of their bytes, each with its count, as they stand in files and go through
// merges. None needs more memory than its longest word, however many there are.
//
// A run is its records, one behind the other; nothing before, between or behind them:
//
//     varint: how many bytes the word shares with the one before    (the most it can)
//     varint: how many more it has                                  (one or more)
//     those bytes
//     varint: its count                                             (one or more)
//
// where a varint is seven bits a byte, the lowest first, and the high bit set in all but the last (LEB128). So equal
// counts are equal bytes.
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

// Goes through words in the order of their bytes.
class SortedWords {
 public:
  virtual ~SortedWords() = default;

  // Goes on to the next word, the first at first; false if there is none.
  virtual bool next() = 0;

  // The word; its bytes stay until `next`.
  const Byte* word() const { return word_; }
  std::size_t length() const { return length_; }
  std::uint64_t count() const { return count_; }

 protected:
  const Byte* word_ = nullptr;
  std::size_t length_ = 0;
  std::uint64_t count_ = 0;
};

// Those of a run that comes piece by piece.
class RunReader : public SortedWords {
 public:
  // Writes up to `room` bytes to `to` and returns how many; 0 at the end only.
  using Refill = std::function<std::size_t(Byte* to, std::size_t room)>;

  explicit RunReader(Refill refill, std::size_t buffer_bytes = std::size_t{1} << 16)
      : refill_(std::move(refill)), buffer_(buffer_bytes) {}

  // Throws std::invalid_argument at what is no run.
  bool next() override;

 private:
  bool is_at_end();
  Byte byte();
  std::uint64_t varint();

  Refill refill_;
  std::vector<Byte> buffer_;
  std::size_t at_ = 0, end_ = 0;  // what is left of the buffer
  std::vector<Byte> bytes_;       // of the word
};

// The words of a run, to be gone through more than once.
class RunWords : public Words {
 public:
  // `open` returns what reads the run from its beginning.
  explicit RunWords(std::function<RunReader::Refill()> open) : open_(std::move(open)) {}
  void for_each(const Visit& visit) const override;

 private:
  std::function<RunReader::Refill()> open_;
};

// Those of a table.
class TableReader : public SortedWords {
 public:
  TableReader(WordCounts table, const PollFunction& poll) : table_(std::move(table)) { table_.sort(poll); }
  bool next() override;

 private:
  WordCounts table_;
  std::size_t next_ = 0;
  Byte room_[16];
};

// Writes the merge of sorted words as a run, piece by piece.
class RunMerger {
 public:
  struct Input {
    std::unique_ptr<SortedWords> words;
    std::uint64_t multiplier = 1;  // of its counts
  };

  // Words whose sum is below `least` are left out.
  explicit RunMerger(std::vector<Input> inputs, std::uint64_t least = 1);

  // Writes the next piece of the run to `piece`: of `bytes` or a record more, less only at the end, then nothing.
  // Throws std::overflow_error for a sum past 64 bits, and what the words and `poll` throw.
  void read(std::size_t bytes, std::string& piece, const PollFunction& poll);

  // What has been written so far: words, and the sum of their counts, which may have 128 bits.
  std::uint64_t words() const { return words_; }
  std::uint64_t total_low() const { return total_low_; }
  std::uint64_t total_high() const { return total_high_; }

 private:
  struct Head {
    std::uint64_t prefix;  // the first bytes of the word, by which most are told apart
    std::size_t input;
  };

  bool is_behind(const Head& a, const Head& b) const;
  void advance(std::size_t input);
  std::uint64_t count_of(std::size_t input) const;
  std::uint64_t take(std::size_t input);
  void write(const Byte* word, std::size_t length, std::uint64_t count, std::string& piece);

  std::vector<Input> inputs_;
  std::uint64_t least_;
  std::vector<Head> heap_;         // of the inputs that have a word, the least word in front
  std::vector<Byte> word_, last_;  // to write, and written last
  std::uint64_t words_ = 0, total_low_ = 0, total_high_ = 0;
};

// The words of tables, each sorted in a thread of its own. After `poll` has thrown the words are lost.
std::vector<RunMerger::Input> sort_all(std::vector<WordCounts> tables, const PollFunction& poll);

}  // namespace hf_bpe
