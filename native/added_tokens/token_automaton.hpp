// Finds tokens in linear time, however long they are and whatever they share: the automaton of Aho and Corasick (1975)
// for the reversed tokens, which reads the text backwards. So at each position it knows the longest token that begins
// there, and it reads every byte once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tables/pair_table.hpp"
#include "text/unicode.hpp"

namespace hf_bpe {

class TokenAutomaton {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 30;  // the total size of tokens that fits in `Node`

  // Any bytes; empty tokens are never found, and of equal ones the last. Memory: 9 bytes for each byte of the tokens.
  explicit TokenAutomaton(const std::vector<std::string>& tokens);

  struct Match {
    const Byte* begin;
    std::uint32_t index;  // in the list of tokens
  };
  // Appends, from right to left, the positions from `from` to before `to` at which tokens begin, with the longest token
  // at each. Tokens may end anywhere up to `end`. Returns the number of bytes read.
  std::size_t find_all(const Byte* from, const Byte* to, const Byte* end, std::vector<Match>& matches) const;

 private:
  // The nodes of the trie of the reversed tokens, in preorder: the first child of a node is the next one. Others are in
  // `children_`, by node and byte.
  class Node {
   public:
    std::uint32_t fallback() const { return bits_ & kFallback; }  // the longest other node that is a suffix
    bool has_first_child() const { return (bits_ & kHasFirstChild) != 0; }
    bool has_more_children() const { return (bits_ & kHasMoreChildren) != 0; }
    void set_fallback(std::uint32_t node) { bits_ = (bits_ & ~kFallback) | node; }
    void set_has_first_child() { bits_ |= kHasFirstChild; }
    void set_has_more_children() { bits_ |= kHasMoreChildren; }

   private:
    static constexpr std::uint32_t kHasFirstChild = 1u << 31, kHasMoreChildren = 1u << 30,
                                   kFallback = kHasMoreChildren - 1;
    std::uint32_t bits_ = 0;
  };

  std::uint32_t child(std::uint32_t node, Byte byte) const {
    if (nodes_[node].has_first_child() && bytes_[node + 1] == byte) return node + 1;
    return nodes_[node].has_more_children() ? children_.find(node, byte) : kNone;
  }
  std::uint32_t next(std::uint32_t node, Byte byte) const;

  using Siblings = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // a node and a child of it
  Siblings make_trie(const std::vector<std::string>& tokens);             // returns all children except first ones
  void make_fallbacks(Siblings siblings);

  std::size_t longest_ = 0;
  std::vector<Node> nodes_;
  std::vector<Byte> bytes_;            // node → the byte that leads to it
  std::vector<std::uint32_t> tokens_;  // node → the longest token that is a prefix of its text
  PairTable children_;
};

// Created on demand, after the trie has cost about as much as creating it. There is no lock, because it would block a
// process that was forked while another thread held it: threads may each create one, of which one is kept.
class LazyTokenAutomaton {
 public:
  explicit LazyTokenAutomaton(const std::vector<std::string>& tokens) : tokens_(tokens) {}
  ~LazyTokenAutomaton() { delete made_.load(); }

  // The automaton; nullptr while the reported work, in steps, is less than that of creating it.
  const TokenAutomaton* get(std::size_t work) const;

 private:
  static constexpr std::size_t kWorkOfByte = 16;

  const std::vector<std::string>& tokens_;
  mutable std::atomic<std::size_t> work_ = 0;
  mutable std::atomic<const TokenAutomaton*> made_ = nullptr;
};

}  // namespace hf_bpe
