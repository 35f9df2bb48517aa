// The bytes of the tokens of a vocabulary, in one array: what ids stand for, and which tokens begin with which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/poll.hpp"

namespace hf_bpe {

class TokenBytes {
 public:
  // The bytes of token i are `data` from `offsets[i]` to `offsets[i + 1]`; both must outlive this. Offsets are
  // checked where they are used, so that a few ids take no time in proportion to the vocabulary.
  TokenBytes(std::string_view data, const std::int64_t* offsets, std::size_t tokens)
      : data_(data), offsets_(offsets), tokens_(tokens) {}

  std::size_t size() const { return tokens_; }
  // Throws std::invalid_argument if the id is too high, or its offsets are not in order and within the data.
  std::string_view operator[](std::size_t id) const;

  // The bytes of ids one after another.
  std::string join(const std::vector<std::uint32_t>& ids, const PollFunction& poll) const;

 private:
  std::string_view data_;
  const std::int64_t* offsets_;
  std::size_t tokens_;
};

// For each token the id of the longest other token that is a prefix of it, or equal; -1 if there is none.
// `candidates`: the ids of the other tokens that count; of equal ones the first is taken. Empty tokens are no prefix.
// Both vocabularies are sorted and walked together, so the time grows as that of sorting them, whatever they hold.
std::vector<std::int64_t> longest_prefixes(const TokenBytes& tokens, const TokenBytes& others,
                                           const std::vector<std::uint32_t>& candidates, const PollFunction& poll);

}  // namespace hf_bpe
