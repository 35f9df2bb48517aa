// The first bytes choose the pattern, special tokens, threads and chunks; the rest is text, to be split and counted.
#include "tests/naive.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace naive;
  if (size < 4) return 0;
  CountingOptions options;
  options.pattern = kPatterns[data[0] % kPatterns.size()];
  options.threads = data[0] / 128 + 1;
  options.chunk_bytes = data[1] + 1;
  options.simd = data[0] / 64 % 2 ? widest_simd() : Simd::kScalar;
  const std::string text(data + 3, data + size);
  if (data[2] % 4 != 0) {  // tokens that occur in the text, and overlap
    for (std::size_t length = 1; length <= data[2] % 4; ++length) {
      options.special_tokens.push_back(text.substr(data[2] / 4 % text.size(), length + data[2] % 3));
    }
  }
  check_scanner(options.pattern, text);
  check_counter(options, {text, text.substr(text.size() / 2), ""});
  return 0;
}
