// Pre-tokenizers that are chains of split expressions: each stage splits the pieces of the one before it.
// See hf_bpe/pretokenizers/_stages.py for what the stages mean.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expressions/backtracker.hpp"
#include "expressions/expression.hpp"
#include "expressions/lazy_dfa.hpp"
#include "support/poll.hpp"

namespace hf_bpe {

// What becomes of a match: it is left out, or a piece by itself, or joined to the text before it, to the text after it,
// or to other matches next to it.
enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

struct Stage {
  Expression expression;
  Behavior behavior;
  bool invert;              // take the text between matches for the matches
  bool adds_space = false;  // first put a space before a piece that does not begin with one; at most one stage does
  bool only_first = false;  // no space before a piece that is not the beginning of its text
  std::string space;        // what spaces are written as, also that one; empty to leave them
};

// Immutable, so threads may share it.
struct Chain {
  std::vector<Stage> stages;  // at most 64
  // The bytes between which any text may be cut: by the first, the set of the second.
  std::array<std::bitset<128>, 128> cuts;
};

// Finds the matches of an expression; for one thread.
class Matcher {
 public:
  // `expression` must outlive the matcher.
  explicit Matcher(const Expression& expression)
      : expression_(expression), automaton_(expression), backtracker_(expression) {}

  // Begins a text.
  void reset(const Byte* begin, const Byte* end);

  // Finds the next match, as Oniguruma does: the leftmost, but not an empty one at the end of the last.
  bool next(const Byte*& match, const Byte*& match_end, PollInLoop& polls);

 private:
  const Byte* match(const Byte* at, PollInLoop& polls);

  const Expression& expression_;
  LazyDfa automaton_;
  Backtracker backtracker_;
  const Byte *begin_ = nullptr, *end_ = nullptr;
  const Byte *at_ = nullptr, *last_ = nullptr;  // where to search; the end of the last match
  bool uses_automaton_ = true;
  std::size_t work_ = 0;  // of the automaton
};

// Splits texts by a chain; for one thread.
class ChainSplitter {
 public:
  explicit ChainSplitter(std::shared_ptr<const Chain> chain);

  // Receives consecutive pieces: the beginning of the first, the ends of all, and their number.
  using Visit = std::function<void(const Byte*, const Byte* const*, std::size_t)>;

  // `is_first`: whether the text begins here, and is not what follows a token.
  void split(const Byte* begin, const Byte* end, const PollFunction& poll, const Visit& visit, bool is_first = true);

  // Whether a stage may put a space before a piece, or write spaces differently.
  bool may_copy() const {
    return std::ranges::any_of(chain_->stages,
                               [](const Stage& stage) { return stage.adds_space || !stage.space.empty(); });
  }
  // A copy of a part of the text, with a space before it; or of all of it, if spaces are written differently.
  struct Copy {
    const Byte *begin, *end;
    std::ptrdiff_t offset;  // in the text, of the place where the space would be; -1 before its beginning
  };
  // During a visit: the copy in which the pieces lie, until the visit ends; null if they lie in the text.
  const Copy* copy() const { return copy_ ? &*copy_ : nullptr; }

 private:
  void split_by(std::size_t stage, const Byte* begin, const Byte* end, PollInLoop& polls, const Visit& visit);
  // The first stage from `stage` on that may find a match in a piece.
  std::size_t next_stage(std::size_t stage, const Byte* begin, const Byte* end) const;
  void split_copy(std::size_t stage, const Byte* begin, const Byte* end, PollInLoop& polls, const Visit& visit);
  void split_matches(std::size_t stage, const Byte* begin, const Byte* end, PollInLoop& polls, const Visit& visit);
  bool needs_copy(const Stage& stage, const Byte* begin) const;
  void add(const Byte* begin, const Byte* end, const Visit& visit);
  void flush(const Visit& visit);

  static constexpr std::size_t kEnds = 1024;

  std::shared_ptr<const Chain> chain_;
  std::vector<Matcher> matchers_;  // by stage
  // By byte, the set of stages with matches that may begin, and end, with a character that the byte is or belongs to.
  std::array<std::uint64_t, 256> begins_{}, ends_with_{};
  const Byte* first_ = nullptr;  // the beginning of the pieces that wait to be visited
  std::size_t count_ = 0;
  std::array<const Byte*, kEnds> ends_;
  const Byte* text_ = nullptr;  // the beginning of the text
  bool is_first_ = true;
  std::vector<Byte> spaced_;  // the bytes of the copy
  std::optional<Copy> copy_;
};

// The first position from `from` to before `end` at which a text that begins at `begin` can be cut; `end` if there is
// none.
const Byte* find_safe_cut(const Chain& chain, const Byte* begin, const Byte* from, const Byte* end);

}  // namespace hf_bpe
