// Encodes long pre-tokens of models whose merges are in the order of training, by words: superword models have
// pre-tokens of sentences or lines, which no cache holds, but the words in them recur.
// Why it is exact: where a merge comes after the merges of its parts, and no two make the same token, merges apply
// in the order of their ranks. Let R be the first rank whose merge makes a token in which a space follows something
// else. (1) All merges before R apply before all others. None of their tokens has two bytes side by side that the table
// of cuts separates, so they apply in each word between cuts as if it were alone. (2) The other merges then join these
// tokens. A merge joins the last such token of its left part and the first one of its right part. So between two tokens
// that no merge joins in this sense nothing is ever merged, and each stretch between such places is merged alone.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "merge/backtracking.hpp"
#include "merge/vocabulary.hpp"
#include "scan/windows.hpp"
#include "support/poll.hpp"

namespace hf_bpe {

// What threads share.
class LongPieces {
 public:
  // The tables of a vocabulary; null if its merges have another order, or too few or all of them are before R.
  static std::unique_ptr<const LongPieces> make(const Vocabulary& vocabulary, const PollFunction& poll);

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const Vocabulary& words() const { return words_; }  // the merges before R; the id of a token is its symbol
  const LazyBacktracking& backtracking_of_words() const { return backtracking_of_words_; }

  bool is_cut(Byte left, Byte right) const { return cuts_[left << 8 | right]; }
  std::size_t size(Symbol symbol) const { return sizes_[symbol]; }

  // Whether a merge may join two tokens; never false if one does.
  bool may_join(Symbol first, Symbol second) const {
    const std::uint64_t bit = bit_of(first, second);
    return joins_[bit / 64] >> (bit % 64) & 1;
  }

 private:
  LongPieces(const Vocabulary& vocabulary, Vocabulary words, std::vector<std::uint32_t> sizes)
      : vocabulary_(vocabulary), words_(std::move(words)), backtracking_of_words_(words_), sizes_(std::move(sizes)) {}

  std::uint64_t bit_of(Symbol first, Symbol second) const {
    const std::uint64_t pair = std::uint64_t{first} << 32 | second;
    return pair * 0x9E3779B97F4A7C15 >> shift_;
  }

  const Vocabulary& vocabulary_;
  const Vocabulary words_;
  const LazyBacktracking backtracking_of_words_;
  std::vector<std::uint32_t> sizes_;  // of symbols, in bytes
  std::vector<bool> cuts_;            // by pair of bytes
  std::vector<std::uint64_t> joins_;  // a bit for each hash of a pair
  unsigned shift_ = 63;
};

// Created on first use, like LazyBacktracking.
class LazyLongPieces {
 public:
  explicit LazyLongPieces(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}
  ~LazyLongPieces() { delete made_.load(); }

  // Null if the vocabulary does not allow it.
  const LongPieces* get(const PollFunction& poll) const {
    const Made* made = made_.load(std::memory_order_acquire);
    if (made == nullptr) {
      auto ours = std::make_unique<const Made>(Made{LongPieces::make(vocabulary_, poll)});
      if (made_.compare_exchange_strong(made, ours.get(), std::memory_order_acq_rel)) made = ours.release();
    }
    return made->pieces.get();
  }

 private:
  struct Made {
    std::unique_ptr<const LongPieces> pieces;
  };
  const Vocabulary& vocabulary_;
  mutable std::atomic<const Made*> made_ = nullptr;
};

// For one thread: owns its working memory and a cache of words.
class LongPieceMerger {
 public:
  explicit LongPieceMerger(const LongPieces& pieces, Simd simd);
  ~LongPieceMerger();

  // Appends the symbols of a piece to `symbols`. A stretch of many tokens that may all be joined is left to
  // `merge_stretch(begin, size)`, which appends its symbols.
  void merge(const Byte* piece, std::size_t length, std::vector<Symbol>& symbols,
             const std::function<void(const Byte*, std::size_t)>& merge_stretch, const PollFunction& poll);

 private:
  class Words;

  void join(std::size_t from, std::size_t to, std::vector<Symbol>& symbols);

  const LongPieces& pieces_;
  std::unique_ptr<Words> words_;
  std::vector<Symbol> tokens_;  // of the words of a batch, after what is left of the stretch before them
};

}  // namespace hf_bpe
