// The first bytes choose tokens that occur in the text, their flags and the pattern; the rest is text.
#include "tests/naive_tokens.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace naive;
  constexpr std::size_t kHead = 24;
  if (size < kHead + 1) return 0;
  std::string text(data + kHead, data + std::min(size, kHead + 120));
  if (data[0] & 1) text += text + text;  // so that tokens overlap themselves
  std::vector<AddedToken> tokens;
  std::vector<std::string> contents;
  for (std::size_t i = 1; i < 1 + data[0] / 2 % 7; ++i) {
    const std::uint8_t* const choice = data + 3 * i;
    const std::uint8_t flags = choice[2];
    const auto flag = [&](unsigned bit) { return flags % 8 == 0 && (flags >> (3 + bit) & 1) != 0; };
    contents.push_back(text.substr(choice[0] % text.size(), choice[1]) + std::string(flags % 3 == 0, 'x'));
    tokens.push_back({contents.back(), static_cast<std::uint32_t>(i), flag(0), flag(1), flag(2), flag(3), flag(4)});
  }
  check_finder(contents, text);
  const Pattern pattern = std::vector{Pattern::kNone, Pattern::kGpt2, Pattern::kO200k}[data[1] % 3];
  check_cuts(tokens, text, pattern, data[2] & 1, data[2] & 2);
  return 0;
}
