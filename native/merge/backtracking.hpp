// Encodes long pre-tokens in linear time: longest match first, with backtracking if two symbols may not be neighbors.
// Why it is exact: call two symbols stable if their concatenated bytes, as a word of their own, are merged to just
// these two. In the encoding of any word all neighbors are stable, because no merge has crossed an end of either. And
// no other sequence of reachable symbols for the same bytes has that property: there would be a first merge in the word
// that crosses one of their ends, and it would also have happened in the word of the two symbols that it crosses
// between. So any search that finds stable neighbors from end to end has found the result of merging by rank. For the
// same reason each position is reached in only one way, so a dead end need not be tried again.
// Stability is decided by splitting the two symbols again, the younger first, and checking at each step whether the
// parts that then met would have been merged. This is valid if the parts of each symbol are older than the symbol, as
// in trained models; other models are merged by rank.
// The time per byte is that of the search for the longest symbol and of splitting symbols: a few steps in real models,
// up to the length of the longest symbol in others. So steps are counted, and a word that takes too many is merged by
// rank.
//
// Source: github/rust-gems, crate bpe.
#pragma once

#include <atomic>
#include <bitset>
#include <cstddef>
#include <memory>
#include <vector>

#include "merge/vocabulary.hpp"
#include "support/poll.hpp"
#include "tables/packed_table.hpp"

namespace hf_bpe {

class Backtracking {
 public:
  // Whether the tokens are short enough: time and memory of the preparation grow with their bytes.
  static bool is_affordable(const Vocabulary& vocabulary);

  using Bytes = std::bitset<256>;

  // The merges, by rank, that words of these bytes can use: those whose parts are such bytes, or made by such merges.
  // Only if the merges of the vocabulary are in order.
  static std::vector<Rank> usable_merges(const Vocabulary& vocabulary, const Bytes& bytes, const PollFunction& poll);

  // Only if it is affordable. For all words; or for those that can use only some merges, given by rank.
  Backtracking(const Vocabulary& vocabulary, const PollFunction& poll);
  Backtracking(const Vocabulary& vocabulary, const std::vector<Rank>& merges, const PollFunction& poll);

  // Whether the ranks of the model allow it.
  bool is_exact() const { return is_exact_; }

  // Replaces `symbols` by the symbols of a word; only if it is exact. Returns false, with unusable `symbols`, after
  // `kMaxSteps` for each byte so far and for as many further bytes as the word has, at most `kHeadStart`. So it takes
  // at most 2 * kMaxSteps per byte.
  bool merge(const Byte* word, std::size_t length, std::vector<Symbol>& symbols, const PollFunction& poll) const;

  // Whether the bytes of two symbols in a row, each the result of merging its bytes, are merged to just these two; only
  // if it is exact. Adds to `steps`.
  bool is_stable(Symbol first, Symbol second, std::size_t& steps) const;

  // Words of real text take 3 to 7 steps a byte, those of two letters up to 12. From about 16 on a heap is faster.
  static constexpr std::size_t kMaxSteps = 16;
  static constexpr std::size_t kHeadStart = std::size_t{1} << 12;

 private:
  static constexpr Symbol kNone = 0xFFFFFFFF;

  // (node of the trie, byte) → next node.
  using Children = PackedTable<26, 8, 26>;

  struct Made {
    Symbol first, second;
    std::uint32_t age;  // the rank of its merge, counted from 1; 0 for a byte
    Symbol shorter;     // the longest other symbol that is a prefix
    std::size_t size;   // in bytes
  };

  bool find_parts(const std::vector<Rank>& usable, const PollFunction& poll);
  void build_trie(const std::vector<Rank>& usable, const PollFunction& poll);
  static std::uint32_t child_of_root(Byte byte) { return 1 + std::uint32_t{byte}; }  // needs no search
  // Whether the bytes of two symbols are merged to just these two by the merges before an age.
  bool are_neighbors_until(std::uint32_t age, Symbol first, Symbol second, std::size_t& steps) const;
  Symbol longest(const Byte* text, const Byte* end, std::size_t& steps) const;

  const Vocabulary& vocabulary_;
  std::vector<Made> made_;  // by symbol; only for reachable symbols
  Children children_{0};
  std::vector<Symbol> nodes_;  // the longest symbol that ends at each or before
  bool is_exact_;
};

// Created on first use. Concurrent threads may each create one, of which one is kept: a lock would block a process that
// was forked while another thread held it.
class LazyBacktracking {
 public:
  explicit LazyBacktracking(const Vocabulary& vocabulary)
      : vocabulary_(vocabulary), is_affordable_(Backtracking::is_affordable(vocabulary)) {}
  ~LazyBacktracking() { delete made_.load(); }

  bool is_affordable() const { return is_affordable_; }
  // Whether it is made already, and exact.
  bool is_ready() const {
    const Backtracking* const made = made_.load(std::memory_order_acquire);
    return made != nullptr && made->is_exact();
  }

  // Whether preparing pays after merging by rank has taken this many steps: about as many as preparing takes.
  bool pays_after(std::size_t steps) const { return is_affordable_ && steps >= 2 * vocabulary_.symbol_bytes(); }

  const Backtracking& get(const PollFunction& poll) const {
    const Backtracking* made = made_.load(std::memory_order_acquire);
    if (made != nullptr) return *made;
    auto ours = std::make_unique<const Backtracking>(vocabulary_, poll);
    if (made_.compare_exchange_strong(made, ours.get(), std::memory_order_acq_rel)) return *ours.release();
    return *made;
  }

 private:
  const Vocabulary& vocabulary_;
  const bool is_affordable_;
  mutable std::atomic<const Backtracking*> made_ = nullptr;
};

}  // namespace hf_bpe
