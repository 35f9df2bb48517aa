#include "expressions/lazy_dfa.hpp"

#include <algorithm>
#include <utility>

namespace hf_bpe {

LazyDfa::LazyDfa(const Expression& expression, std::size_t max_bytes)
    : expression_(expression),
      width_(expression.alphabet().classes() + 1),
      max_bytes_(max_bytes),
      seen_(expression.code().size(), 0),
      added_(expression.code().size(), 0) {
  const Alphabet& alphabet = expression.alphabet();
  std::map<std::vector<bool>, std::uint32_t> contexts;  // by the tests that a class passes
  for (unsigned type = 0; type < width_; ++type) {
    std::vector<bool> passed;
    for (const Instruction& each : expression.code()) {
      if (each.opcode == Opcode::kCheck) passed.push_back(alphabet.is_in(each.a, type));
    }
    const auto [found, is_new] = contexts.try_emplace(passed, static_cast<std::uint32_t>(contexts.size()));
    if (is_new) context_types_.push_back(type);
    contexts_.push_back(found->second);
  }
  clear();
}

void LazyDfa::clear() {
  starts_.assign(context_types_.size(), kUnknown);
  transitions_.assign(width_, kDead);
  states_.assign(1, {});
  known_.clear();
  bytes_ = 0;
}

const Byte* LazyDfa::match(const Byte* begin, const Byte* at, const Byte* end, std::size_t& work, PollInLoop& polls) {
  const Alphabet& alphabet = expression_.alphabet();
  const Byte* const from = at;
  const Byte* matched = nullptr;
  Transition state = start(expression_.looks_back() ? contexts_[alphabet.before(begin, at)] : 0);
  const Transition* transitions = transitions_.data();  // kept in a register
  while (at < end) {
    const TypedCharacter character = alphabet.at(at, end);
    Transition next = transitions[state / 2 + character.type];  // halving drops the bit for a match
    if (next == kUnknown) {
      next = step(state, character.type, work, polls);
      transitions = transitions_.data();
    }
    if (next & 1) matched = at;
    if (next <= 1) {  // dead
      work += static_cast<std::size_t>(at - from);
      return matched;
    }
    state = next;
    at += character.length;
  }
  work += static_cast<std::size_t>(at - from);
  Transition last = transitions_[state / 2 + alphabet.edge()];
  if (last == kUnknown) last = step(state, alphabet.edge(), work, polls);
  return last & 1 ? at : matched;
}

LazyDfa::Transition LazyDfa::start(std::uint32_t context) {
  if (starts_[context] == kUnknown) {
    const Transition state = state_of({context, expression_.start()});
    starts_[context] = state;
  }
  return starts_[context];
}

LazyDfa::Transition LazyDfa::step(Transition from, unsigned type, std::size_t& work, PollInLoop& polls) {
  const Alphabet& alphabet = expression_.alphabet();
  const State& state = states_[from / 2 / width_];
  const unsigned before = context_types_[state[0]];  // any class of the context of the last character
  State next = {contexts_[type]};
  bool is_match = false;
  std::size_t followed = 0;
  if (++round_ == 0) {  // after 2**32 rounds
    std::fill(seen_.begin(), seen_.end(), 0);
    std::fill(added_.begin(), added_.end(), 0);
    round_ = 1;
  }
  for (std::size_t i = 1; i < state.size() && !is_match; ++i) {  // the preferred instruction first
    open_.assign(1, state[i]);                                   // a stack
    while (!open_.empty() && !is_match) {
      const std::uint32_t number = open_.back();
      open_.pop_back();
      ++followed;
      if (std::exchange(seen_[number], round_) == round_) continue;  // reached before, with more preference
      const Instruction& each = expression_.code()[number];
      switch (each.opcode) {
        case Opcode::kAccept:
          is_match = true;
          break;  // and what is less preferred is given up
        case Opcode::kCharacter:
          if (type != alphabet.edge() && alphabet.is_in(each.a, type) && added_[each.b] != round_) {
            added_[each.b] = round_;
            next.push_back(each.b);
          }
          break;
        case Opcode::kSplit:
          open_.insert(open_.end(), {each.b, each.a});  // the preferred branch on top
          break;
        case Opcode::kCheck:
          if (alphabet.is_in(each.a, before) && alphabet.is_in(each.b, type)) open_.push_back(each.c);
          break;
        case Opcode::kLook:
        case Opcode::kAtomic:
          break;  // not in a regular expression
      }
    }
  }
  work += followed;
  polls(followed);
  const std::size_t place = from / 2 + type;
  const std::size_t count = states_.size();
  const Transition transition = (next.size() == 1 ? kDead : state_of(std::move(next))) | (is_match ? 1 : 0);
  if (states_.size() >= count) transitions_[place] = transition;  // else the table was cleared
  return transition;
}

LazyDfa::Transition LazyDfa::state_of(State state) {
  if (const auto found = known_.find(state); found != known_.end()) return found->second;
  constexpr std::size_t kBytesOfState = 160;  // about, without its elements, which `states_` and `known_` have
  const std::size_t bytes = kBytesOfState + sizeof(Transition) * width_ + 2 * sizeof(state[0]) * state.size();
  if (bytes_ + bytes > max_bytes_ && states_.size() >= kMinStates) clear();
  bytes_ += bytes;
  const auto number = static_cast<Transition>(transitions_.size() * 2);
  try {
    transitions_.resize(transitions_.size() + width_, kUnknown);
    states_.push_back(state);
    known_.emplace(std::move(state), number);
  } catch (...) {  // no memory: the next text must not find half a state
    clear();
    throw;
  }
  return number;
}

}  // namespace hf_bpe
