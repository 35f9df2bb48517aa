// A deterministic automaton of a regular expression, made while it runs.
//
// A state holds where the instructions of a program may stand after a character, the preferred one first; so the
// automaton finds the match that backtracking would find (Cox, "Regular Expression Matching in the Wild", 2010). What
// depends on the character after a position is decided by the transition on that character, which also says whether a
// match ends before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "expressions/expression.hpp"
#include "support/poll.hpp"

namespace hf_bpe {

// For one thread.
class LazyDfa {
 public:
  // `expression` is regular, and must outlive the automaton. `max_bytes` limits the memory for states.
  explicit LazyDfa(const Expression& expression, std::size_t max_bytes = std::size_t{8} << 20);

  // The end of the match that begins at `at`, in a text from `begin` to `end`; nullptr if there is none. Adds the
  // number of bytes that were read, and of instructions that were followed to make states, to `work`. `polls` is called
  // only where states are made.
  const Byte* match(const Byte* begin, const Byte* at, const Byte* end, std::size_t& work, PollInLoop& polls);

 private:
  // The first of a state's transitions, times two, plus one if a match ends before the character.
  using Transition = std::uint32_t;
  static constexpr Transition kUnknown = ~Transition{0};
  static constexpr Transition kDead = 0;        // the state that nothing follows
  static constexpr std::size_t kMinStates = 3;  // with the dead one, so that a step may clear all and add its state

  // The instructions to continue at, after the number of the set of tests that the last character passes.
  using State = std::vector<std::uint32_t>;

  Transition start(std::uint32_t context);
  Transition step(Transition from, unsigned type, std::size_t& work, PollInLoop& polls);
  Transition state_of(State state);
  void clear();

  const Expression& expression_;
  const std::size_t width_, max_bytes_;
  std::size_t bytes_ = 0;                // of the states, about
  std::vector<std::uint32_t> contexts_;  // by class: characters of one context are alike to all that looks back
  std::vector<unsigned> context_types_;  // a class of each
  std::vector<Transition> starts_;       // by context
  std::vector<Transition> transitions_;  // by state and class
  std::vector<State> states_;
  std::map<State, Transition> known_;
  // While a state is made:
  std::vector<std::uint32_t> open_, seen_, added_;  // to follow; by instruction, the round of its last visit
  std::uint32_t round_ = 0;
};

}  // namespace hf_bpe
