// The first bytes choose the options, the next ones merges that words begin with; the rest is words, each after its
// length and count.
#include "tests/naive.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace naive;
  if (size < 4) return 0;
  TrainingOptions options;
  options.max_merges = data[0] % 64;
  options.lexicographic = data[0] / 64 % 2;
  options.min_frequency = data[1] % 8;
  if (data[1] / 8 % 4 == 0) options.max_token_bytes = data[1] / 32 + 1;
  options.length_penalty = data[2] % 4 == 0 ? data[2] / 4 * 0.1 : 0;
  if (data[2] / 4 % 4 == 0) options.words = {data[2] / 16 % 4u, data[2] >= 128};
  options.encoding = {data[1] % 2 == 0 ? Pattern::kGpt2 : Pattern::kNone, data[1] / 2 % 2 + 1u};
  options.span = std::uint64_t{1} << data[3] % 8;
  options.sharing = {data[0] % 4u + 1, data[1] % 16u + 1};
  std::size_t at = 4;
  Merges initial;
  std::vector<std::string> tokens = {"a", "b", " ", "\xC4"};
  for (std::size_t merges = data[3] / 8; merges > 0 && at + 2 <= size; --merges, at += 2) {
    const std::pair pair(tokens[data[at] % tokens.size()], tokens[data[at + 1] % tokens.size()]);
    if (pair.first.size() + pair.second.size() > 32) continue;
    if (std::find(initial.begin(), initial.end(), pair) != initial.end()) continue;
    // Its position decides whether its parts are made before it.
    initial.insert(data[at] / 128 ? initial.begin() : initial.end(), pair);
    tokens.push_back(pair.first + pair.second);
  }
  WordMap words;
  while (at + 3 <= size) {
    const std::size_t length = data[at] % 32 + 1;
    const std::uint64_t count = std::uint64_t{data[at + 1]} << (data[at] / 32 * 8);  // up to 2^63
    at += 2;
    const std::string word(data + at, data + std::min(at + length, size));
    if (count != 0 && count < std::uint64_t{1} << 54) words[word] += count;
    at += length;
  }
  check_trainer(words, initial, options);
  return 0;
}
