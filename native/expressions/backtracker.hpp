// Backtracking over a program, in time linear in the text: what has failed at a position is not tried there again.
//
// It matches what the automaton (lazy_dfa.hpp) cannot: look-around over several characters, and atomic groups. And it
// matches for the automaton where attempts at many positions would each read far ahead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "expressions/expression.hpp"
#include "support/poll.hpp"

namespace hf_bpe {

// Thrown if an expression needs too much memory for a text.
struct ExpressionTooCostly : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// For one thread.
class Backtracker {
 public:
  // `expression` must outlive it. `max_bytes` limits the memory for what has failed, and for choices that are open.
  explicit Backtracker(const Expression& expression, std::size_t max_bytes = std::size_t{1} << 29);

  // Begins a text. Then positions for `match` must not decrease.
  void reset(const Byte* begin, const Byte* end);

  // The end of the match that begins at `at`; nullptr if there is none.
  const Byte* match(const Byte* at, PollInLoop& polls);

 private:
  // Instead of an instruction: what was tried has failed, or all has matched.
  static constexpr std::uint32_t kFailed = ~std::uint32_t{0}, kMatched = kFailed - 1;
  static constexpr std::size_t kBlock = 1024;     // positions
  static constexpr std::size_t kBytesOfEnd = 64;  // about

  // What is to be done if everything since has failed: try the other way of a split, note that it has failed both ways,
  // or leave the body of a LOOK or ATOMIC.
  enum Kind : std::uint32_t { kFirstWay, kOtherWay, kBody };
  struct Choice {
    std::uint32_t place;
    std::uint32_t instruction : 30, kind : 2;
  };

  // What is known of a split at a position.
  enum Result : unsigned { kUnknown, kFails, kMatches };

  using Block = std::vector<std::uint64_t>;  // two bits for each position and split

  void forget_before(const Byte* at);
  Block& block_of(std::uint32_t place);
  Result result_of(std::uint32_t split, std::uint32_t place);
  void note(std::uint32_t split, std::uint32_t place, Result result);
  void reserve(std::size_t bytes);
  void open(Kind kind, std::uint32_t instruction, const Byte* at);
  const Byte* step_back(const Byte* at, std::uint32_t characters) const;
  std::uint32_t fail(const Byte*& at);
  std::uint32_t accept(const Byte*& at);
  Result recall(std::uint32_t split, const Byte*& at);
  std::uint64_t key_of(std::uint32_t split, std::uint32_t place) const { return std::uint64_t{place} * count_ + split; }
  std::uint32_t place_of(const Byte* at) const { return static_cast<std::uint32_t>(at - begin_); }

  const Expression& expression_;
  const std::size_t max_bytes_;
  std::vector<std::uint32_t> splits_;  // by instruction, the number of a split
  std::size_t count_ = 0;              // of splits
  const Byte* begin_ = nullptr;
  const Byte* end_ = nullptr;
  std::vector<Block> blocks_;    // empty where nothing is known
  std::size_t first_block_ = 0;  // those before are not needed any more
  std::size_t bytes_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> ends_;  // of a body of ATOMIC, from a split and a place that match
  std::uint32_t last_place_ = 0;                           // in `ends_`
  std::vector<Choice> choices_;
  std::vector<std::size_t> bodies_;  // the choices of kind kBody
};

}  // namespace hf_bpe
