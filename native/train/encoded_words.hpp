// Words as the tokens that merges make of them: encoded in threads, kept until their places in a TokenArray are known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "count/words.hpp"
#include "merge/first_tokens.hpp"
#include "scan/pattern.hpp"
#include "support/pages.hpp"
#include "support/poll.hpp"

namespace hf_bpe {

// How words are encoded with merges; it decides only how fast.
struct WordEncoding {
  Pattern word_pattern = Pattern::kGpt2;  // should cut words where the merges do not cross
  unsigned threads = 1;
};

class EncodedWords {
 public:
  // Of words of two tokens or more. `poll` is called from time to time in the calling thread.
  EncodedWords(const Words& words, const FirstTokens& first_tokens, const WordEncoding& how, const PollFunction& poll);

  // Calls `visit(tokens, number of tokens, count)` for each word, in the order of the words.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Block& block : blocks_) visit_block(block, visit);
  }
  // The same, once: returns the memory of what has been visited to the system.
  template <class Visit>
  void take_each(Visit visit) {
    for (Block& block : blocks_) {
      visit_block(block, visit);
      block = Block();
    }
  }

  // The memory that encoding words of these many bytes in all, and at most `longest` bytes, takes beyond the records.
  static std::uint64_t working_bytes(std::uint64_t bytes, std::uint64_t longest, unsigned threads);

 private:
  // Records of words: the count in two symbols, the lower one first; the number of tokens; the tokens.
  struct Block {
    Pages<Symbol> records;
    std::size_t size = 0;
  };
  static constexpr std::size_t kHeader = 3;

  struct Word;
  struct Tables;
  class Batch;
  class Worker;
  void append(const std::vector<Symbol>& records);

  template <class Visit>
  static void visit_block(const Block& block, Visit& visit) {
    for (std::size_t at = 0; at < block.size;) {
      const std::uint64_t count = block.records[at] | std::uint64_t{block.records[at + 1]} << 32;
      const std::size_t size = block.records[at + 2];
      visit(&block.records[at + kHeader], size, count);
      at += kHeader + size;
    }
  }

  std::vector<Block> blocks_;
};

}  // namespace hf_bpe
