// What limits on the words of a token need to know of its bytes, so that it can be computed for a pair of tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace hf_bpe {

// Limits for tokens of several words (Liu, Hayase and others, "SuperBPE", arXiv:2503.13423). A word is a run of bytes
// other than the space.
struct WordLimits {
  std::size_t max_words = std::numeric_limits<std::size_t>::max();
  bool colon_space = true;  // whether a token may hold a colon followed by a space

  bool allow_all() const { return max_words == std::numeric_limits<std::size_t>::max() && colon_space; }
};

struct TokenWords {
  std::uint32_t words = 0;
  char first = 0, last = 0;  // bytes
  bool has_colon_space = false;

  TokenWords() = default;
  explicit TokenWords(std::string_view token)
      : first(token.front()), last(token.back()), has_colon_space(token.find(": ") != std::string_view::npos) {
    char before = ' ';
    for (const char byte : token) {
      words += before == ' ' && byte != ' ';
      before = byte;
    }
  }
  // Those of two tokens as one.
  TokenWords(const TokenWords& a, const TokenWords& b)
      : words(a.words + b.words - (a.last != ' ' && b.first != ' ')),
        first(a.first),
        last(b.last),
        has_colon_space(a.has_colon_space || b.has_colon_space || (a.last == ':' && b.first == ' ')) {}

  bool are_within(const WordLimits& limits) const {
    return words <= limits.max_words && (limits.colon_space || !has_colon_space);
  }
};

}  // namespace hf_bpe
