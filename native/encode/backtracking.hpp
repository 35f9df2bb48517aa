// Long pre-tokens to symbols in linear time: the longest match first, and back where two symbols may not stand together.
//
// What makes it exact: call two symbols stable if the bytes of both, as a word of their own, are merged to just these two.
// In the symbols of any word all neighbours are stable, because no merge has crossed an end of either. And of symbols that
// their own bytes come to, no others for the same bytes have that property: there would be a first merge in the word that
// crosses one of their ends, and it would have been made as well in the word of the two that it crosses between. So
// whatever search finds stable neighbours from end to end has found what merging by rank gives. For the same reason a
// place is reached in one way only, so one that leads nowhere need not be tried again.
//
// Whether two symbols are stable is seen by taking them apart again, the younger first, and asking at each step whether
// the parts that then met would have been merged. That holds where whatever a symbol is made of is older than itself, as
// training has it; models of other files are merged by rank.
//
// The time for each byte is that of the search for the longest symbol there, and of taking symbols apart: a few steps in
// all models in use, as many as the longest symbol has bytes in others. So steps are counted, and a word that takes too
// many is left to merging by rank.
//
// Source: github/rust-gems, crate bpe.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "encode/packed_table.hpp"
#include "support/poll.hpp"
#include "encode/vocabulary.hpp"

namespace hf_bpe {

class Backtracking {
 public:
  // Whether the tokens of the model are short enough for it: time and memory of the preparation grow with their bytes.
  static bool is_affordable(const Vocabulary& vocabulary);

  // Only where it is affordable.
  Backtracking(const Vocabulary& vocabulary, const PollFunction& poll);

  // Whether the ranks of the model allow it.
  bool is_exact() const { return is_exact_; }

  // Replaces `symbols` by those of a word; only where it is exact. Returns false, with `symbols` of no use, once it has
  // taken `kMostSteps` for each byte up to where it has come, and for as many bytes more as the word has, but for
  // `kHeadStart` at most. So it takes no more than 2 * kMostSteps a byte.
  bool merge(const Byte* word, std::size_t length, std::vector<Symbol>& symbols, const PollFunction& poll) const;

  // Words of real text take 3 to 7 steps a byte, those of two letters up to 12. From about 16 on a heap is faster.
  static constexpr std::size_t kMostSteps = 16;
  static constexpr std::size_t kHeadStart = std::size_t{1} << 12;

 private:
  static constexpr Symbol kNone = 0xFFFFFFFF;

  // Of a node of the trie and a byte → the node that follows.
  using Children = PackedTable<26, 8, 26>;

  struct Made {
    Symbol first, second;
    std::uint32_t age;  // the rank of its merge, counted from 1; 0 for a byte
    Symbol shorter;     // the longest other symbol that it begins with
    std::size_t size;   // in bytes
  };

  bool find_parts(std::vector<std::string>& bytes, const PollFunction& poll);
  void build_trie(const std::vector<std::string>& bytes, const PollFunction& poll);
  Symbol longest(const Byte* text, const Byte* end, std::size_t& steps) const;
  bool is_stable(Symbol first, Symbol second, std::size_t& steps) const;

  const Vocabulary& vocabulary_;
  std::vector<Made> made_;     // by symbol; only of those that words are merged to
  Children children_{0};
  std::vector<Symbol> nodes_;  // the symbol that ends at each, or kNone
  bool is_exact_;
};

// Made when it is first asked for. Threads that ask at once may each make one, of which one stays: a lock would be no use
// to a process that was forked while another thread held it.
class LazyBacktracking {
 public:
  explicit LazyBacktracking(const Vocabulary& vocabulary)
      : vocabulary_(vocabulary), is_affordable_(Backtracking::is_affordable(vocabulary)) {}
  ~LazyBacktracking() { delete made_.load(); }

  // Whether preparing has paid once merging by rank has taken so many steps: about as many as it takes itself.
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
