// Merges words with BPE-dropout, as hf_bpe/reference/_dropout.py defines it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "merge/dropout.hpp"
#include "merge/vocabulary.hpp"
#include "support/poll.hpp"

namespace hf_bpe {

// For one thread. Words draw independently, but the same draws give the same ids: so the ids of words up to 15 bytes
// are remembered by their bytes and the gaps between the skipped candidates, where these are few. A newer result
// replaces an older one.
class DropoutMerger {
 public:
  explicit DropoutMerger(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  static constexpr std::size_t kLongestRemembered = 15;

  // Writes the ids of a word and returns their number. Memory takes time linear in the length and 1 / (1 - p), with the
  // logarithm that a heap needs.
  std::size_t merge(const Byte* word, std::size_t length, const WordDraws& draws, std::uint32_t* out,
                    const PollFunction& poll);

  // The same of a word of up to kLongestRemembered bytes, given a number of 128 bits that no other word has.
  std::size_t merge_remembered(std::uint64_t low, std::uint64_t high, const Byte* word, std::size_t length,
                               const WordDraws& draws, std::uint32_t* out);

 private:
  static constexpr std::size_t kMaxIds = 10, kMaxGaps = 4, kResults = std::size_t{1} << 17;

  struct alignas(64) Result {
    std::uint64_t low = 0, high = 0;
    std::uint32_t gaps = 0;           // the gaps before each skipped candidate, counted from 1, in a byte each
    std::uint8_t rest = 0, size = 0;  // the candidates that must be kept after the last skipped one; the number of ids
    std::uint32_t ids[kMaxIds];
  };

  Result& result_of(std::uint64_t low, std::uint64_t high, std::uint32_t gaps);
  std::size_t merge_short(const Byte* word, std::size_t length, Skips& skips, std::uint32_t* out) const;
  std::size_t merge_by_heap(const Byte* word, std::size_t length, Skips& skips, std::uint32_t* out,
                            const PollFunction& poll) const;

  const Vocabulary& vocabulary_;
  std::vector<Result> results_;
};

}  // namespace hf_bpe
