// Counts the pre-tokens of texts in threads. The result does not depend on their number or the distribution of texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "added_tokens/added_tokens.hpp"
#include "count/word_counts.hpp"
#include "scan/scanner.hpp"
#include "text/chunks.hpp"

namespace hf_bpe {

struct CountingOptions {
  Pattern pattern = Pattern::kGpt2;
  std::vector<std::string> special_tokens;  // valid UTF-8; text is split at them first; not counted
  unsigned threads = 1;
  Simd simd = widest_simd();
  std::size_t chunk_bytes = std::size_t{1} << 20;  // the amount that a thread takes at a time
  std::size_t memory = 0;                          // for the counts of all threads; 0 for no limit
};

struct InvalidUtf8 {
  std::size_t text;
  std::size_t offset;  // of the first byte that belongs to no valid sequence
};

class Counter {
 public:
  explicit Counter(const CountingOptions& options);
  ~Counter();

  struct Added {
    std::size_t chunks;                  // the number of counted chunks
    bool is_done;                        // whether these are all chunks
    std::optional<InvalidUtf8> invalid;  // the first in a text that must be valid
  };

  // Counts the pre-tokens of texts, each `weight` times, starting from a given chunk. If memory is limited, it may stop
  // before all chunks are done; then the counts must be taken before it can resume.
  // `poll` is called from time to time in the calling thread with the number of bytes done; its exceptions propagate.
  // After an exception or invalid UTF-8 some of the texts are counted and some are not.
  // Throws std::overflow_error if the weighted size of the texts is 2**64 bytes or more, and std::invalid_argument if
  // there are fewer chunks than `first_chunk`.
  Added add(const std::vector<Text>& texts, const std::function<void(std::size_t)>& poll, std::uint64_t weight = 1,
            std::size_t first_chunk = 0);

  // The counts of all texts so far, one part per thread; resets the counter.
  std::vector<WordCounts> take();

 private:
  class Worker;
  WordCounts empty_counts() const;
  void note(const std::vector<Text>& texts, std::uint64_t weight);

  CountingOptions options_;
  const AddedTokens specials_;
  std::vector<Worker> workers_;
  std::uint64_t most_ = 0;  // an upper bound of all counts
};

}  // namespace hf_bpe
