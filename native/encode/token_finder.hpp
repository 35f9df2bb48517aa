// Finds tokens in text: special tokens between documents, added tokens anywhere. However many there are, text without
// tokens costs next to nothing: a filter of the first bytes leaves few places at which to look closely, in a trie. And
// however long they are, and whatever they share, the time is linear in the text: where the trie has cost too much, an
// automaton takes its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "encode/token_automaton.hpp"
#include "text/unicode.hpp"

namespace hf_bpe {

class TokenFinder {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  static constexpr std::size_t kPatience = 1 << 10;

  // Any bytes; an empty token is never found, and of equal ones the last. Work in the trie is given up when it exceeds
  // `patience` and a multiple of the bytes that it was for. Throws std::length_error if the tokens have 2**30 bytes.
  explicit TokenFinder(std::vector<std::string> tokens, std::size_t patience = kPatience);

  // The size of the longest token, 0 if there is none.
  std::size_t longest() const { return longest_; }

  std::size_t size(std::uint32_t index) const { return tokens_[index].size(); }

  // The longest other token that a token begins with, kNone if there is none.
  std::uint32_t longest_prefix(std::uint32_t index) const { return prefixes_[index]; }

  struct Found {
    const Byte* begin;
    const Byte* end;
    std::uint32_t index;  // in the list of tokens; kNone if nothing was found
  };

  // A walk through a text, from left to right.
  class Search {
   public:
    // Tokens begin at `from` or later, and end at `end` or before.
    Search(const TokenFinder& finder, const Byte* from, const Byte* end)
        : finder_(finder), end_(end), start_(from), known_(from) {}

    // The first token that begins at `from` or later, and before `limit`, and of those that begin there the longest; it
    // begins and ends at `limit` if there is none. In one walk `from` must never go back.
    Found find(const Byte* from, const Byte* limit);
    Found find(const Byte* from) { return find(from, end_); }

    // How many steps this took: nodes of the trie, and bytes that the automaton read.
    std::size_t work() const { return work_; }

   private:
    bool is_too_much(const Byte* from) const {
      return work_ - work_before_ > finder_.patience_ + kFactor * static_cast<std::size_t>(from - start_);
    }
    bool look_ahead(const Byte* from);

    static constexpr std::size_t kFactor = 8, kBlock = std::size_t{1} << 14;

    const TokenFinder& finder_;
    const Byte* const end_;
    std::size_t work_ = 0;
    const Byte* start_;  // from where on the trie has been used
    std::size_t work_before_ = 0;
    const Byte* known_;                           // up to where the automaton has looked
    std::vector<TokenAutomaton::Match> matches_;  // what it has found there, from right to left
  };

 private:
  void make_trie();
  void make_filter();
  void make_starts(std::size_t most_bytes);

  // The longest token that begins at `from`; its end is `from` if there is none. Adds what it costs to `work`.
  Found longest_at(const Byte* from, const Byte* end, std::size_t& work) const;

  // The child of a node that a byte leads to, kNone if there is none.
  std::uint32_t find_child(std::uint32_t node, Byte byte) const {
    std::uint32_t child = nodes_[node].first_child;
    const std::uint32_t last = nodes_[node + 1].first_child;
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

  const std::vector<std::string> tokens_;
  const std::size_t patience_;
  const LazyTokenAutomaton automaton_;
  std::size_t longest_ = 0;
  std::vector<std::uint32_t> prefixes_;  // of each token, the longest other one that it begins with

  // The trie, in which what has one continuation only is one node. They are numbered level by level, so that the children
  // of one follow each other: up to the first child of the next node.
  struct Node {
    std::uint32_t first_child;
    std::uint32_t token;          // the token that ends here, kNone if none does
    const Byte* more = nullptr;   // the bytes that follow the first one, in one of the tokens
    std::size_t more_size = 0;
  };
  std::uint32_t roots_[256];  // the nodes of first bytes, kNone where no token begins so
  std::vector<Node> nodes_;   // and one more
  std::vector<Byte> bytes_;   // of each node, the first byte

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
