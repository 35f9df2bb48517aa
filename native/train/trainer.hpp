// Learns merges from counted words, identical to those of `learn_merges` in hf_bpe/reference/_trainer.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "count/words.hpp"
#include "merge/first_tokens.hpp"
#include "train/characters.hpp"
#include "train/encoded_words.hpp"
#include "train/pair_index.hpp"
#include "train/sharing.hpp"
#include "train/token_array.hpp"
#include "train/token_words.hpp"

namespace hf_bpe {

struct TrainingOptions : LearningOptions {
  std::size_t max_merges = 0;
  // How many times rarer than the commonest pair an indexed pair may be. It decides how often the index is rebuilt,
  // never the result; on 70 MB and 500 MB of text anything from 32 to 1000 takes about the same time.
  std::uint64_t span = 64;
  WordEncoding encoding;  // with initial merges
  Sharing sharing;        // of indexing
  TrainingAlphabet alphabet;
};

struct Learned {
  // The bytes of each symbol: those of FirstTokens, with the merges of an alphabet of characters first, then the
  // results of the merges, in the order learned.
  std::vector<std::string> tokens;
  std::vector<std::pair<Symbol, Symbol>> merges;  // in the order learned
  std::uint64_t last_count = 0;                   // the count of the last pair
};

// Learns merges that follow those of `initial`. A merge may make a token that `initial` has but cannot make from its
// bytes; then it has that token's symbol. `progress` is called from time to time; its exceptions propagate. Throws like
// FirstTokens and TokenArray.
Learned learn_merges(const Words& words, const FirstTokens::Merges& initial, const TrainingOptions& options,
                     const std::function<void(const Learned&)>& progress);

// The peak memory of `learn_merges`, without the words: on real text an upper bound, up to half as much again.
// `options.max_merges` includes the initial merges, which a sample of the words is encoded with. Iterates over the
// words twice, or once if there are no initial merges. `poll` is called from time to time. Throws like TokenArray.
std::uint64_t training_bytes(const Words& words, const FirstTokens::Merges& initial, const TrainingOptions& options,
                             const PollFunction& poll);

}  // namespace hf_bpe
