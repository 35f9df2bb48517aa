// The first bytes choose the options; the rest is words, each behind its length and count.
#include "../tests/naive.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace naive;
  if (size < 4) return 0;
  TrainingOptions options;
  options.max_merges = data[0] % 64;
  options.lexicographic = data[0] / 64 % 2;
  options.min_frequency = data[1] % 8;
  if (data[1] / 8 % 4 == 0) options.max_token_bytes = data[1] / 32 + 1;
  options.length_penalty = data[2] % 4 == 0 ? data[2] / 4 * 0.1 : 0;
  options.span = std::uint64_t{1} << data[3] % 8;
  WordMap words;
  for (std::size_t at = 4; at + 3 <= size;) {
    const std::size_t length = data[at] % 32 + 1;
    const std::uint64_t count = std::uint64_t{data[at + 1]} << (data[at] / 32 * 8);  // up to 2^63
    at += 2;
    const std::string word(data + at, data + std::min(at + length, size));
    if (count != 0 && count < std::uint64_t{1} << 54) words[word] += count;
    at += length;
  }
  check_trainer(words, options);
  return 0;
}
