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
// Source: github/rust-gems, crate bpe.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "pair_table.hpp"
#include "vocabulary.hpp"

namespace hf_bpe {

class Backtracking {
 public:
  explicit Backtracking(const Vocabulary& vocabulary);

  // Whether the ranks of the model allow it.
  bool is_exact() const { return is_exact_; }

  // Replaces `symbols` by those of a word; only where it is exact.
  void merge(const Byte* word, std::size_t length, std::vector<Symbol>& symbols) const;

 private:
  static constexpr Symbol kNone = 0xFFFFFFFF;

  struct Made {
    Symbol first, second;
    std::uint32_t age;  // the rank of its merge, counted from 1; 0 for a byte
    Symbol shorter;     // the longest other symbol that it begins with
    std::size_t size;   // in bytes
  };

  bool find_parts(std::vector<std::string>& bytes);
  void build_trie(const std::vector<std::string>& bytes);
  Symbol longest(const Byte* text, const Byte* end) const;
  bool is_stable(Symbol first, Symbol second) const;

  const Vocabulary& vocabulary_;
  std::vector<Made> made_;     // by symbol; only of those that words are merged to
  PairTable children_;         // of a node of the trie and a byte
  std::vector<Symbol> nodes_;  // the symbol that ends at each, or kNone
  bool is_exact_;
};

// Made when it is first asked for. Threads that ask at once may each make one, of which one stays: a lock would be no use
// to a process that was forked while another thread held it.
class LazyBacktracking {
 public:
  explicit LazyBacktracking(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}
  ~LazyBacktracking() { delete made_.load(); }

  const Backtracking& get() const {
    const Backtracking* made = made_.load(std::memory_order_acquire);
    if (made != nullptr) return *made;
    auto ours = std::make_unique<const Backtracking>(vocabulary_);
    if (made_.compare_exchange_strong(made, ours.get(), std::memory_order_acq_rel)) return *ours.release();
    return *made;
  }

 private:
  const Vocabulary& vocabulary_;
  mutable std::atomic<const Backtracking*> made_ = nullptr;
};

}  // namespace hf_bpe
