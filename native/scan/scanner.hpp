// Splits text into pre-tokens by the named patterns of hf_bpe/pretokenizers/_named_patterns.py.
// There are two implementations with the same results. `next_pre_token` matches a pattern character by character, for
// any text. `Scanner` splits text 64 bytes at a time (windows.hpp), with the vector instructions of the machine, and
// uses `next_pre_token` for the rest.
#pragma once

#include <cstddef>

#include "scan/pattern.hpp"
#include "support/simd.hpp"
#include "text/unicode.hpp"

namespace hf_bpe {

// The end of the pre-token that begins at `text`, in text that ends at `end`; `text < end`.
const Byte* next_pre_token(Pattern::Name pattern, const Byte* text, const Byte* end);

// Calls `visit(text, ends, count)` for batches of pre-tokens until the end of the text, with the beginning of the first
// and the ends of all in the batch. `scan(text, end, ends, capacity)` finds them as Scanner does.
template <class Scan, class Visit>
void scan_all(const Byte* text, const Byte* end, const Scan& scan, Visit visit) {
  constexpr std::size_t kEnds = 1024;
  const Byte* ends[kEnds];
  while (text < end) {
    const std::size_t count = scan(text, end, ends, kEnds);
    visit(text, ends, count);
    text = ends[count - 1];
  }
}

class Scanner {
 public:
  explicit Scanner(Pattern::Name pattern, Simd simd = widest_simd());

  // Writes the ends of the first pre-tokens of the text to `ends`, at most `capacity` of them, and returns how many.
  // `text` must be the beginning of a pre-token; to continue, call again with the last end.
  std::size_t operator()(const Byte* text, const Byte* end, const Byte** ends, std::size_t capacity) const {
    return scan_(pattern_, text, end, ends, capacity);
  }

  template <class Visit>
  void scan_all(const Byte* text, const Byte* end, Visit visit) const {
    hf_bpe::scan_all(text, end, *this, visit);
  }

 private:
  using Scan = std::size_t (*)(Pattern::Name, const Byte*, const Byte*, const Byte**, std::size_t);
  Pattern::Name pattern_;
  Scan scan_;
};

// The first position from `from` to before `end` at which the text that begins at `begin` can be cut without changing
// its pre-tokens; `end` if there is none. All named patterns except kNone have safe cuts after most words.
const Byte* find_safe_cut(const Pattern& pattern, const Byte* begin, const Byte* from, const Byte* end);

}  // namespace hf_bpe
