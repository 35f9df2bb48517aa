// Compiled expressions compared with a naive matcher, which tries everything again and again.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "expressions/chain.hpp"
#include "naive.hpp"

namespace naive {

// Returns a number below its argument; from random numbers, or from the input of a fuzzer.
using Draw = std::function<std::size_t(std::size_t)>;

// Draws programs as the compiler writes them: bodies share nothing, and loops pass characters.
class ProgramMaker {
 public:
  explicit ProgramMaker(Draw draw) : draw_(std::move(draw)) {
    // a, b, white space, é and ideographs, all but a, nothing but the edge, anything, anything with the edge
    program_.tests = {{{{'a', 'a'}}},
                      {{{'b', 'b'}}},
                      {{{'\t', '\n'}, {' ', ' '}}},
                      {{{0xE9, 0xE9}, {0x4E00, 0x9FFF}}},
                      {{{0, 'a' - 1}, {'b', 0x10FFFF}}, true},
                      {{}, true},
                      {{{0, 0x10FFFF}}},
                      {{{0, 0x10FFFF}}, true}};
  }

  Program make() {
    program_.start = add(0, accept());
    return program_;
  }

 private:
  std::uint32_t emit(Instruction instruction) {
    program_.instructions.push_back(instruction);
    return static_cast<std::uint32_t>(program_.instructions.size() - 1);
  }
  std::uint32_t accept() { return emit({Opcode::kAccept}); }
  std::uint32_t set() { return static_cast<std::uint32_t>(draw_(program_.tests.size())); }
  std::uint32_t character(std::uint32_t next) { return emit({Opcode::kCharacter, set(), next}); }

  std::uint32_t add(unsigned depth, std::uint32_t next) {
    switch (draw_(depth < 4 ? 9 : 2)) {
      case 0:
      case 1:
        return character(next);
      case 2:
        return emit({Opcode::kCheck, draw_(2) ? 7 : set(), draw_(2) ? 7 : set(), next});
      case 3:
        return add(depth + 1, add(depth + 1, next));
      case 4: {
        const std::uint32_t other = add(depth + 1, next);
        return emit({Opcode::kSplit, add(depth + 1, next), other});
      }
      case 5: {  // a loop, whose body begins with a character
        const std::uint32_t loop = emit({Opcode::kSplit});
        const std::uint32_t body = character(draw_(2) ? loop : add(depth + 1, loop));
        const bool is_greedy = draw_(2) != 0;
        program_.instructions[loop].a = is_greedy ? body : next;
        program_.instructions[loop].b = is_greedy ? next : body;
        return loop;
      }
      case 6: {
        const std::uint32_t body = add(depth + 1, accept());
        return emit(
            {Opcode::kLook, body, next, static_cast<std::uint32_t>(draw_(2)), static_cast<std::uint32_t>(draw_(3))});
      }
      case 7: {
        const std::uint32_t body = add(depth + 1, accept());
        return emit({Opcode::kAtomic, body, next, next});
      }
      default:
        return next;
    }
  }

  Draw draw_;
  Program program_;
};

class NaiveMatcher {
 public:
  NaiveMatcher(const hf_bpe::Expression& expression, const Byte* begin, const Byte* end)
      : expression_(expression), begin_(begin), end_(end) {}

  const Byte* match(std::uint32_t at_instruction, const Byte* at) {
    if (++steps > kMaxSteps) return nullptr;
    const Instruction& each = expression_.code()[at_instruction];
    const Alphabet& alphabet = expression_.alphabet();
    const TypedCharacter next = at == end_ ? TypedCharacter{alphabet.edge(), 0} : alphabet.at(at, end_);
    switch (each.opcode) {
      case Opcode::kAccept:
        return at;
      case Opcode::kCharacter:
        return at < end_ && alphabet.is_in(each.a, next.type) ? match(each.b, at + next.length) : nullptr;
      case Opcode::kSplit: {
        const Byte* const found = match(each.a, at);
        return found != nullptr ? found : match(each.b, at);
      }
      case Opcode::kCheck: {
        const bool passes = alphabet.is_in(each.a, alphabet.before(begin_, at)) && alphabet.is_in(each.b, next.type);
        return passes ? match(each.c, at) : nullptr;
      }
      case Opcode::kLook: {
        const Byte* from = at;
        for (std::uint32_t i = 0; i < each.d && from != nullptr; ++i) {
          from = from == begin_ ? nullptr : from - alphabet.length_before(begin_, from);
        }
        const bool found = from != nullptr && match(each.a, from) != nullptr;
        return found != (each.c == 1) ? match(each.b, at) : nullptr;
      }
      case Opcode::kAtomic: {
        const Byte* const found = match(each.a, at);
        return found == nullptr ? nullptr : match(found == at ? each.c : each.b, found);
      }
    }
    return nullptr;
  }

  static constexpr std::size_t kMaxSteps = 20'000;
  std::size_t steps = 0;

 private:
  const hf_bpe::Expression& expression_;
  const Byte *begin_, *end_;
};

inline std::vector<std::string> pieces(const std::shared_ptr<const Chain>& chain, const std::string& text) {
  std::vector<std::string> found;
  const auto* const begin = reinterpret_cast<const Byte*>(text.data());
  ChainSplitter splitter(chain);
  splitter.split(begin, begin + text.size(), kNoPoll,
                 [&](const Byte* from, const Byte* const* ends, std::size_t count) {
                   if (const auto* const copy = splitter.copy())
                     CHECK(copy->begin <= from && ends[count - 1] <= copy->end);
                   for (std::size_t i = 0; i < count; from = ends[i++]) found.emplace_back(from, ends[i]);
                 });
  return found;
}

// Compares all ways to match a program with the naive one, and splits by it.
inline void check_program(const Program& program, const std::string& text, bool is_mapped, Behavior behavior,
                          bool invert) {
  const auto chain = std::make_shared<Chain>();
  try {
    chain->stages.push_back({hf_bpe::Expression(program, is_mapped), behavior, invert});
  } catch (const std::invalid_argument&) {  // a loop that passes nothing
    return;
  }
  const hf_bpe::Expression& expression = chain->stages[0].expression;
  const auto* const begin = reinterpret_cast<const Byte*>(text.data());
  const Byte* const end = begin + text.size();
  PollInLoop polls(kNoPoll);
  Backtracker fresh(expression), continued(expression);
  LazyDfa automaton(expression), small(expression, 1);
  continued.reset(begin, end);
  for (const Byte* at = begin;;) {
    NaiveMatcher naive(expression, begin, end);
    const Byte* const expected = naive.match(expression.start(), at);
    if (naive.steps > NaiveMatcher::kMaxSteps) return;
    fresh.reset(begin, end);
    CHECK(fresh.match(at, polls) == expected);
    CHECK(continued.match(at, polls) == expected);
    if (expected != nullptr) {
      CHECK(expression.may_begin(at == end ? expression.alphabet().edge() : expression.alphabet().at(at, end).type));
    }
    if (expression.is_regular()) {
      std::size_t work = 0;
      CHECK(automaton.match(begin, at, end, work, polls) == expected);
      CHECK(small.match(begin, at, end, work, polls) == expected);
    }
    if (at == end) break;
    at += expression.alphabet().at(at, end).length;
  }
  ChainSplitter splitter(chain);
  std::size_t total = 0;
  const Byte* last = begin;
  splitter.split(begin, end, kNoPoll, [&](const Byte* from, const Byte* const* ends, std::size_t count) {
    CHECK(last <= from && from < ends[0] && ends[count - 1] <= end);
    for (std::size_t i = 0; i + 1 < count; ++i) CHECK(ends[i] < ends[i + 1]);
    total += static_cast<std::size_t>(ends[count - 1] - from);
    last = ends[count - 1];
  });
  CHECK(total == text.size() || behavior == Behavior::kRemoved);

  // A stage that adds a space splits a text as the same stage without it splits the text with a space before it.
  if (text.empty()) return;
  const auto spaced = std::make_shared<Chain>();
  spaced->stages.push_back({hf_bpe::Expression(program, is_mapped), behavior, invert, true});
  CHECK(pieces(spaced, text) == pieces(chain, text[0] == ' ' ? text : " " + text));
}

}  // namespace naive
