// StochasTok: random tokens of a text are split in two, as hf_bpe/reference/_dropout.py defines it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/poll.hpp"

namespace hf_bpe {

// The pairs of tokens that each token can be split into.
struct TokenSplits {
  const std::uint32_t* begins;  // by id, with the end of the last: where its pairs are
  std::size_t ids;
  const std::pair<std::uint32_t, std::uint32_t>* pairs;
};

// The ids of one text.
struct StochasticText {
  const std::uint32_t* ids;
  std::size_t size;
  std::uint64_t steps;   // how often a token is chosen
  std::uint64_t number;  // of the text
};

// Appends the ids of a text with tokens split. Throws std::length_error for 2**32 ids or more.
void apply_stochastok(const StochasticText& text, const TokenSplits& splits, std::uint64_t seed,
                      std::vector<std::uint32_t>& out, const PollFunction& poll);

}  // namespace hf_bpe
