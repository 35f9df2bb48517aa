// Learns merges from counted words: what `learn_merges` of hf_bpe/reference.py does, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "first_tokens.hpp"
#include "token_array.hpp"
#include "words.hpp"

namespace hf_bpe {

struct TrainingOptions {
  std::size_t max_merges = 0;
  bool lexicographic = true;  // ties go to the greatest pair of bytes; else to the smallest pair of symbols
  std::uint64_t min_frequency = 1;
  std::size_t max_token_bytes = std::numeric_limits<std::size_t>::max();
  double length_penalty = 0;
  // How many times rarer than the commonest pair a pair may be to get into the index. It decides how often the index is
  // made anew, never the result; on 70 MB and 500 MB of text anything from 32 to 1000 takes about the same time.
  std::uint64_t span = 64;
};

// Returns the pairs of symbols merged, in the order learned. `poll` is called now and then with their number so far; what
// it throws is passed on. Throws what TokenArray throws.
std::vector<std::pair<Symbol, Symbol>> learn_merges(const Words& words, const TrainingOptions& options,
                                                    const std::function<void(std::size_t)>& poll);

}  // namespace hf_bpe
