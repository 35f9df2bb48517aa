// Learns merges from counted words: what `learn_merges` of hf_bpe/core/reference.py does, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "encode/first_tokens.hpp"
#include "train/token_array.hpp"
#include "count/words.hpp"

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

struct Learned {
  // The bytes of each symbol: those of FirstTokens, then what the merges make, in the order learned.
  std::vector<std::string> tokens;
  std::vector<std::pair<Symbol, Symbol>> merges;  // in the order learned
  std::uint64_t last_count = 0;                   // how often the pair of the last one occurred
};

// Learns merges that follow those of `initial`. A merge may make a token that `initial` has and cannot make of these
// bytes: then the symbol is that one's. `progress` is called now and then; what it throws is passed on. Throws what
// FirstTokens and TokenArray throw.
Learned learn_merges(const Words& words, const FirstTokens::Merges& initial, const TrainingOptions& options,
                     const std::function<void(const Learned&)>& progress);

// How much memory `learn_merges` takes at its peak, beyond what the words take: on real text never less than it does, and
// up to half as much again. Among `max_merges` are the initial ones, too. Goes through the words once. `poll` is called
// now and then. Throws what TokenArray throws.
std::uint64_t training_bytes(const Words& words, std::size_t max_merges, const PollFunction& poll);

}  // namespace hf_bpe
