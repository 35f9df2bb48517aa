// Counts the pre-tokens of texts in threads. The result does not depend on how many, nor on how the texts are shared out.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "chunks.hpp"
#include "token_finder.hpp"
#include "word_counts.hpp"

namespace hf_bpe {

struct CountingOptions {
  Pattern pattern = Pattern::kGpt2;
  std::vector<std::string> special_tokens;  // valid UTF-8; text is split at them first; they are not counted
  unsigned threads = 1;
  Simd simd = widest_simd();
  std::size_t chunk_bytes = std::size_t{1} << 20;  // what a thread takes at a time
};

struct InvalidUtf8 {
  std::size_t text;
  std::size_t offset;  // of the first byte that belongs to no valid sequence
};

class Counter {
 public:
  explicit Counter(const CountingOptions& options);
  ~Counter();

  // Counts the pre-tokens of texts. Returns where the first invalid UTF-8 is, if any is in a text where it must not be.
  //
  // `poll` is called now and then in the calling thread with the number of bytes of these texts that are done; what it
  // throws is passed on. After an exception or invalid UTF-8 some of the texts are counted and some are not.
  std::optional<InvalidUtf8> add(const std::vector<Text>& texts, const std::function<void(std::size_t)>& poll);

  // The counts of all texts so far; the counter begins anew.
  WordCounts finish();

 private:
  class Worker;
  CountingOptions options_;
  TokenFinder specials_;
  std::vector<Worker> workers_;
};

}  // namespace hf_bpe
