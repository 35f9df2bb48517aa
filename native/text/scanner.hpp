// Cuts text into pre-tokens by the named patterns of hf_bpe/core/pretokenizers.py.
//
// Two ways lead to the same cuts. `next_pre_token` reads a pattern character by character, and is right everywhere.
// `Scanner` finds the cuts of ASCII text 64 bytes at a time (windows.hpp), in the vector instructions that the machine
// has, and asks `next_pre_token` for the rest.
#pragma once

#include <cstddef>
#include <string_view>

#include "text/unicode.hpp"

namespace hf_bpe {

// cl100k and llama3 cut alike.
enum class Pattern { kNone, kGpt2, kCl100k, kQwen2, kO200k };

enum class Simd { kScalar, kNeon, kAvx2 };

// The widest that this build and this machine have.
Simd widest_simd();

// The end of the pre-token that begins at `text`, in text that ends at `end`; `text < end`.
const Byte* next_pre_token(Pattern pattern, const Byte* text, const Byte* end);

class Scanner {
 public:
  explicit Scanner(Pattern pattern, Simd simd = widest_simd());

  // Writes the ends of the first pre-tokens of the text to `ends`, at most `capacity` of them, and returns how many.
  // `text` must be a place where a pre-token begins; to go on, call again with the last end.
  std::size_t operator()(const Byte* text, const Byte* end, const Byte** ends, std::size_t capacity) const {
    return scan_(pattern_, text, end, ends, capacity);
  }

  // Calls `visit(text, ends, count)` until the ends of all pre-tokens have been given; each time some of them, with the
  // place where the first of those begins.
  template <class Visit>
  void scan_all(const Byte* text, const Byte* end, Visit visit) const {
    constexpr std::size_t kEnds = 1024;
    const Byte* ends[kEnds];
    while (text < end) {
      const std::size_t count = (*this)(text, end, ends, kEnds);
      visit(text, ends, count);
      text = ends[count - 1];
    }
  }

 private:
  using Scan = std::size_t (*)(Pattern, const Byte*, const Byte*, const Byte**, std::size_t);
  Pattern pattern_;
  Scan scan_;
};

// The first place from `from` on, before `end`, at which the text that begins at `begin` can be cut without changing
// its pre-tokens; `end` if no place is sure. All patterns but kNone have such places after most words.
const Byte* find_safe_cut(Pattern pattern, const Byte* begin, const Byte* from, const Byte* end);

}  // namespace hf_bpe
