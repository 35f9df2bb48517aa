// Counts the pre-tokens of texts in threads. The result does not depend on how many, nor on how the texts are shared out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "encode/added_tokens.hpp"
#include "text/chunks.hpp"
#include "text/scanner.hpp"
#include "count/word_counts.hpp"

namespace hf_bpe {

struct CountingOptions {
  Pattern pattern = Pattern::kGpt2;
  std::vector<std::string> special_tokens;  // valid UTF-8; text is split at them first; they are not counted
  unsigned threads = 1;
  Simd simd = widest_simd();
  std::size_t chunk_bytes = std::size_t{1} << 20;  // what a thread takes at a time
  std::size_t memory = 0;  // for the counts of all threads; 0 for as much as they need
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
    std::size_t chunks;                  // how many of the texts' chunks are counted
    bool is_done;                        // whether these are all
    std::optional<InvalidUtf8> invalid;  // the first in a text where there must be none
  };

  // Counts the pre-tokens of texts, each as if it stood `weight` times in the text, from one of their chunks on. Where
  // memory is limited, it may stop before all chunks are done; then the counts must be taken before it can go on.
  //
  // `poll` is called now and then in the calling thread with the number of bytes that are done; what it throws is passed
  // on. After an exception or invalid UTF-8 some of the texts are counted and some are not.
  //
  // Throws std::overflow_error where the bytes of the texts, by their weights, are 2**64 or more; std::invalid_argument
  // where there are fewer chunks than `first_chunk`.
  Added add(const std::vector<Text>& texts, const std::function<void(std::size_t)>& poll, std::uint64_t weight = 1,
            std::size_t first_chunk = 0);

  // The counts of all texts so far, in as many parts as threads made; the counter begins anew.
  std::vector<WordCounts> take();

 private:
  class Worker;
  WordCounts empty_counts() const;
  void note(const std::vector<Text>& texts, std::uint64_t weight);

  CountingOptions options_;
  const AddedTokens specials_;
  std::vector<Worker> workers_;
  std::uint64_t most_ = 0;  // what no count can be greater than
};

}  // namespace hf_bpe
