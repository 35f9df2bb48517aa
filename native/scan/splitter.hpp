// Splits texts by any pattern: named ones with the scanner, chains with compiled expressions.
#pragma once

#include <optional>

#include "expressions/chain.hpp"
#include "scan/characters.hpp"
#include "scan/scanner.hpp"
#include "support/poll.hpp"

namespace hf_bpe {

// For one thread.
class Splitter {
 public:
  explicit Splitter(const Pattern& pattern, Simd simd = widest_simd())
      : scanner_(pattern, simd), characters_(pattern.characters()) {
    if (pattern == Pattern::kChain) chain_.emplace(pattern.chain());
  }

  // Calls `visit(text, ends, count)` for batches of consecutive pre-tokens, with the beginning of the first and the
  // ends of all in the batch. A chain may leave parts of the text out, and put spaces before parts, which it copies:
  // see `copy`. `poll` is called where `visit` is not for long. `is_first`: see ChainSplitter.
  template <class Visit>
  void split(const Byte* text, const Byte* end, const PollFunction& poll, Visit visit, bool is_first = true) {
    if (characters_ != nullptr) {
      scan_all(text, end, [&](auto... given) { return characters_->scan(given...); }, visit);
    } else if (chain_) {
      chain_->split(text, end, poll, visit, is_first);
    } else {
      scanner_.scan_all(text, end, visit);
    }
  }

  // Whether there may be copies.
  bool may_copy() const { return chain_ && chain_->may_copy(); }
  // During a visit: the copy of a part of the text in which the pre-tokens lie; null if they lie in the text.
  const ChainSplitter::Copy* copy() const { return chain_ ? chain_->copy() : nullptr; }

 private:
  Scanner scanner_;
  const CharacterCuts* characters_;
  std::optional<ChainSplitter> chain_;
};

}  // namespace hf_bpe
