// Finds special and added tokens in text. Text without tokens costs almost nothing, however many tokens there are: a
// filter on the first bytes leaves few positions for a lookup in a trie. And the time is linear in the text, however
// long the tokens are and whatever they share: if the trie becomes too expensive, an automaton replaces it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "added_tokens/token_automaton.hpp"
#include "text/unicode.hpp"

namespace hf_bpe {

class TokenFinder {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  static constexpr std::size_t kPatience = 1 << 10;

  // Any bytes; empty tokens are never found, and of equal ones the last. The trie is abandoned when its work exceeds
  // `patience` and a multiple of the bytes searched. Throws std::length_error if the tokens have 2**30 bytes.
  explicit TokenFinder(std::vector<std::string> tokens, std::size_t patience = kPatience);

  // The size of the longest token, 0 if there is none.
  std::size_t longest() const { return longest_; }

  std::size_t size(std::uint32_t index) const { return tokens_[index].size(); }

  // The longest other token that is a prefix of a token, kNone if there is none.
  std::uint32_t longest_prefix(std::uint32_t index) const { return prefixes_[index]; }

  struct Found {
    const Byte* begin;
    const Byte* end;
    std::uint32_t index;  // in the list of tokens; kNone if nothing was found
  };

  // A walk through a text, from left to right.
  class Search {
   public:
    // For tokens that begin at or after `from` and end at or before `end`.
    Search(const TokenFinder& finder, const Byte* from, const Byte* end)
        : finder_(finder), end_(end), start_(from), known_(from) {}

    // The first token that begins at or after `from` and before `limit`, and the longest at its position; it begins and
    // ends at `limit` if there is none. In one walk `from` must never decrease.
    Found find(const Byte* from, const Byte* limit);
    Found find(const Byte* from) { return find(from, end_); }

    // The number of steps: nodes of the trie, and bytes that the automaton read.
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
    const Byte* start_;  // where the use of the trie began
    std::size_t work_before_ = 0;
    const Byte* known_;                           // the end of the range that the automaton has searched
    std::vector<TokenAutomaton::Match> matches_;  // its matches, from right to left
  };

 private:
  void make_trie();
  void make_filter();
  void make_starts(std::size_t max_bytes);

  // The longest token that begins at `from`; its end is `from` if there is none. Adds its cost to `work`.
  Found longest_at(const Byte* from, const Byte* end, std::size_t& work) const;

  // The child of a node for a byte, kNone if there is none.
  std::uint32_t find_child(std::uint32_t node, Byte byte) const {
    std::uint32_t child = nodes_[node].first_child;
    const std::uint32_t last = nodes_[node + 1].first_child;
    if (last - child > 4) {  // for fewer children the call costs more than it saves
      const void* found = std::memchr(&bytes_[child], byte, last - child);
      return found ? static_cast<std::uint32_t>(static_cast<const Byte*>(found) - bytes_.data()) : kNone;
    }
    for (; child < last; ++child) {
      if (bytes_[child] == byte) return child;
    }
    return kNone;
  }

  // Functions that find the first position at or after `from` where a token may begin; `end` if there is none. The
  // choice depends on the tokens: the fewer distinct beginnings, the faster.
  using Next = const Byte* (TokenFinder::*)(const Byte* from, const Byte* end) const;
  const Byte* next_of_none(const Byte* from, const Byte* end) const;
  const Byte* next_by_first_byte(const Byte* from, const Byte* end) const;
  template <bool by_two, bool by_three, bool by_four>
  const Byte* next_by_starts(const Byte* from, const Byte* end) const;

  const std::vector<std::string> tokens_;
  const std::size_t patience_;
  const LazyTokenAutomaton automaton_;
  std::size_t longest_ = 0;
  std::vector<std::uint32_t> prefixes_;  // token → the longest other token that is a prefix

  // The trie, in which chains are one node. Nodes are numbered level by level, so the children of a node are
  // consecutive: up to the first child of the next node.
  struct Node {
    std::uint32_t first_child;
    std::uint32_t token;         // the token that ends here, kNone if there is none
    const Byte* more = nullptr;  // the bytes after the first one, in one of the tokens
    std::size_t more_size = 0;
  };
  std::uint32_t roots_[256];  // the nodes of first bytes, kNone if no token begins with a byte
  std::vector<Node> nodes_;   // plus a sentinel
  std::vector<Byte> bytes_;   // node → its first byte

  // A hash set of beginnings, with a byte per slot: bits would be smaller but slower.
  class Starts {
   public:
    void insert(const std::vector<std::uint32_t>& starts);
    bool is_empty() const { return slots_.empty(); }
    Byte has(std::uint32_t start) const { return slots_[slot_of(start)]; }  // with false positives

   private:
    std::size_t slot_of(std::uint32_t start) const { return start * 0x9E3779B1u >> shift_; }

    std::vector<Byte> slots_;
    unsigned shift_ = 0;
  };
  Next next_ = nullptr;
  Byte first_byte_ = 0;    // for `next_by_first_byte`; the others are for `next_by_starts`, and empty if not needed
  std::vector<Byte> two_;  // by the first two bytes
  Starts three_, four_;    // by the first three and four bytes
};

}  // namespace hf_bpe
