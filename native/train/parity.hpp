// Learns merges for several languages, each for the language that is worst off (Foroutan, Meister and others,
// "Parity-Aware Byte-Pair Encoding", arXiv:2508.04796), identical to those of hf_bpe/reference/_parity.py.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "count/words.hpp"
#include "train/trainer.hpp"

namespace hf_bpe {

// Of the LearningOptions, penalties and limits on words have no effect, and ties that are not lexicographic go to the
// greatest pair of printable characters.
struct ParityOptions : LearningOptions {
  std::size_t max_merges = 0;
  std::size_t global_merges = 0;  // of these, the first ones are for all languages together
  std::size_t window = 0;         // how many last choices are looked at; 0 for none
  double alpha = 2;               // a language may have this many times its share of them
  std::vector<double> ratios;     // the compression that each language should have, relative to others; or none
};

// `languages` are the words to learn from, and `dev`, if not empty, parallel ones that say how long each language is.
// `chosen` receives the number of the language of each merge, that of languages for one of all. `progress` is called
// from time to time, and may use the number of merges; its exceptions propagate.
Learned learn_parity_merges(const std::vector<const Words*>& languages, const std::vector<const Words*>& dev,
                            const ParityOptions& options, std::vector<std::size_t>& chosen,
                            const std::function<void(const Learned&)>& progress);

}  // namespace hf_bpe
