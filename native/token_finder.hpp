// Tokens in text: the leftmost, and of several that begin there the longest.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pair_table.hpp"
#include "unicode.hpp"

namespace hf_bpe {

class TokenFinder {
 public:
  // Empty tokens are never found.
  explicit TokenFinder(const std::vector<std::string>& tokens = {});

  std::size_t longest() const { return longest_; }

  struct Found {
    const Byte* begin;  // the end of the text if there is none
    const Byte* end;
    std::size_t token;
  };
  // The first that begins at `from` or later.
  Found find(const Byte* from, const Byte* end) const {
    if (longest_ == 0) return {end, end, 0};
    return find_any(from, end);
  }

  // Calls `visit(end, token)` for each token that begins at `at`, the shortest first.
  template <class Visit>
  void find_at(const Byte* at, const Byte* end, Visit visit) const {
    for (std::uint32_t node = 0; at < end;) {
      node = children_.find(node, *at++);
      if (node == PairTable::kNone) return;
      if (tokens_[node] != kNoToken) visit(at, tokens_[node]);
    }
  }

  // Whether text may be cut at `at`: no token begins before and ends behind it.
  bool allows_cut(const Byte* begin, const Byte* at, const Byte* end) const;
  // Whether a token begins or ends at `at`, or is across.
  bool is_touching(const Byte* begin, const Byte* at, const Byte* end) const;

 private:
  static constexpr std::size_t kNoToken = static_cast<std::size_t>(-1);

  // Whether a token that begins up to `back` bytes before `at` ends at `least` or behind.
  bool is_reached(const Byte* begin, const Byte* at, const Byte* end, std::size_t back, const Byte* least) const;
  Found find_any(const Byte* from, const Byte* end) const;

  std::size_t longest_ = 0;
  PairTable children_;               // of a node of the trie and a byte
  std::vector<std::size_t> tokens_;  // by node: the one that ends there
  bool is_first_[256] = {};
  int only_first_ = -1;  // the byte that all begin with, as is usual
};

}  // namespace hf_bpe
