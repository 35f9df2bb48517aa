// Finds tokens in text: special tokens between documents, added tokens anywhere. However many there are, text without
// tokens costs next to nothing: a filter of the first bytes leaves few places at which to look closely, in a trie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "unicode.hpp"

namespace hf_bpe {

class TokenFinder {
 public:
  // Any bytes; an empty token is never found, and of equal ones the last.
  explicit TokenFinder(const std::vector<std::string>& tokens);

  // The size of the longest token, 0 if there is none.
  std::size_t longest() const { return longest_; }

  struct Found {
    const Byte* begin;  // `end` of the text if there is none
    const Byte* end;
    std::uint32_t index;  // in the list of tokens
  };
  // The first that begins at `from` or later, and of those that begin there the longest.
  Found find(const Byte* from, const Byte* end) const;

  // Calls `visit(end of the token, index)` for each token that begins at `from`, the shortest first; `from < end`.
  template <class Visit>
  void visit_all_at(const Byte* from, const Byte* end, Visit visit) const {
    std::uint32_t node = roots_[*from];
    while (node != kNone) {
      ++from;
      if (tokens_[node] != kNone) visit(from, tokens_[node]);
      if (from == end) return;
      node = find_child(node, *from);
    }
  }

  // Calls `visit(begin, end, index)` for each token that begins before `at` or there and ends at `at` or behind it, in
  // text from `begin` to `end`.
  template <class Visit>
  void visit_all_around(const Byte* begin, const Byte* at, const Byte* end, Visit visit) const {
    const std::size_t before = std::min(longest_, static_cast<std::size_t>(at - begin));
    for (const Byte* from = at - before; from <= at && from < end; ++from) {
      visit_all_at(from, end, [&](const Byte* stop, std::uint32_t index) {
        if (stop >= at) visit(from, stop, index);
      });
    }
  }

  // Whether a token begins before `at` and ends behind it, be it one that `find` gives or not.
  bool is_across(const Byte* begin, const Byte* at, const Byte* end) const;
  bool allows_cut(const Byte* begin, const Byte* at, const Byte* end) const { return !is_across(begin, at, end); }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  void make_trie(const std::vector<std::string>& tokens);
  void make_filter(const std::vector<std::string>& tokens);
  void make_starts(const std::vector<std::string>& tokens, std::size_t most_bytes);

  // The node behind another one and a byte, kNone if there is none.
  std::uint32_t find_child(std::uint32_t node, Byte byte) const {
    std::uint32_t child = children_[node];
    const std::uint32_t last = children_[node + 1];
    if (last - child > 4) {  // with fewer the call costs more than it saves
      const void* found = std::memchr(&bytes_[child], byte, last - child);
      return found ? static_cast<std::uint32_t>(static_cast<const Byte*>(found) - bytes_.data()) : kNone;
    }
    for (; child < last; ++child) {
      if (bytes_[child] == byte) return child;
    }
    return kNone;
  }

  // Ways to find the first place from `from` on where a token may begin; `end` if there is none. Which is used depends
  // on the tokens: the fewer beginnings they have, the faster it is.
  using Next = const Byte* (TokenFinder::*)(const Byte* from, const Byte* end) const;
  const Byte* next_of_none(const Byte* from, const Byte* end) const;
  const Byte* next_by_first_byte(const Byte* from, const Byte* end) const;
  template <bool by_two, bool by_three, bool by_four>
  const Byte* next_by_starts(const Byte* from, const Byte* end) const;

  std::size_t longest_ = 0;

  // The trie, its nodes numbered level by level, so that the children of one stand together.
  std::uint32_t roots_[256];             // the nodes of first bytes, kNone where no token begins so
  std::vector<Byte> bytes_;              // of each node, the byte that leads to it
  std::vector<std::uint32_t> children_;  // of each node, its first child; they end where those of the next node begin
  std::vector<std::uint32_t> tokens_;    // of each node, the token that ends there, kNone if none does

  // What tokens begin with, by hash. A byte for each: bits would be smaller, and slower.
  class Starts {
   public:
    void insert(const std::vector<std::uint32_t>& starts);
    bool is_empty() const { return slots_.empty(); }
    Byte has(std::uint32_t start) const { return slots_[slot_of(start)]; }  // at times also what it has not

   private:
    std::size_t slot_of(std::uint32_t start) const { return start * 0x9E3779B1u >> shift_; }

    std::vector<Byte> slots_;
    unsigned shift_ = 0;
  };
  Next next_ = nullptr;
  Byte first_byte_ = 0;    // for `next_by_first_byte`; the others are for `next_by_starts`, and empty where not needed
  std::vector<Byte> two_;  // by the first two bytes
  Starts three_, four_;    // by the first three and four bytes
};

}  // namespace hf_bpe
