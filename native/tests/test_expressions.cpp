// Expressions: automaton and backtracking compared with a naive matcher, on random programs and texts.
#include "examples.hpp"
#include "expressions.hpp"
#include "random.hpp"

using namespace naive;

namespace {

std::string draw_text() {
  static const std::vector<std::string> fragments = {"a",  "a",  "ab",       "b",    " ",    "\n",
                                                     "aa", "ba", "\xC3\xA9", "\xE4", "\x80", "\xE4\xBD\xA0"};
  std::string text;
  for (std::size_t i = draw(12); i > 0; --i) text += draw_from(fragments);
  return text;
}

void test_programs_match_as_the_naive_matcher_does() {
  for (int i = 0; i < examples(4'000); ++i) {
    const Program program = ProgramMaker([](std::size_t below) { return draw(below); }).make();
    const auto behavior = Behavior{static_cast<int>(draw(5))};
    check_program(program, draw_text(), draw(4) == 0, behavior, draw(2) != 0);
  }
}

// a(?:a|aa)*c, which no attempt matches, on a text that each attempt reads to its end.
void test_time_is_linear() {
  const Program program{{{Opcode::kAccept},
                         {Opcode::kCharacter, 1, 0},
                         {Opcode::kSplit, 3, 1},
                         {Opcode::kSplit, 4, 5},
                         {Opcode::kCharacter, 0, 2},
                         {Opcode::kCharacter, 0, 4},
                         {Opcode::kCharacter, 0, 2}},
                        {{{{'a', 'a'}}}, {{{'c', 'c'}}}},
                        6};
  const auto chain = std::make_shared<Chain>();
  chain->stages.push_back({hf_bpe::Expression(program, false), Behavior::kIsolated, false});
  const std::string text(1 << 20, 'a');
  std::size_t pieces = 0;
  ChainSplitter(chain).split(reinterpret_cast<const Byte*>(text.data()),
                             reinterpret_cast<const Byte*>(text.data()) + text.size(), kNoPoll,
                             [&](const Byte*, const Byte* const*, std::size_t count) { pieces += count; });
  CHECK(pieces == 1);
}

void test_memory_has_a_limit() {
  const Program program{{{Opcode::kAccept}, {Opcode::kSplit, 2, 0}, {Opcode::kCharacter, 0, 1}}, {{{{'a', 'a'}}}}, 1};
  const hf_bpe::Expression expression(program, false);
  const std::string text(100'000, 'a');
  const auto* const begin = reinterpret_cast<const Byte*>(text.data());
  Backtracker backtracker(expression, 1 << 12);
  bool is_refused = false;
  try {
    backtracker.reset(begin, begin + text.size());
    PollInLoop polls(kNoPoll);
    backtracker.match(begin, polls);
  } catch (const ExpressionTooCostly&) {
    is_refused = true;
  }
  CHECK(is_refused);
}

void test_malformed_programs_are_refused() {
  const std::vector<CharacterTest> any = {{{{0, 0x10FFFF}}}};
  const std::vector<Program> malformed = {
      {{}, any, 0},
      {{{Opcode::kAccept}}, any, 1},
      {{{Opcode::kCharacter, 1, 0}}, any, 0},
      {{{Opcode::kCharacter, 0, 1}}, any, 0},
      {{{Opcode::kSplit, 0, 0}}, any, 0},
      {{{Opcode::kCheck, 0, 0, 0}}, any, 0},
      {{{Opcode{9}}}, any, 0},
      {{{Opcode::kAccept}}, {{{{2, 1}}}}, 0},
      {{{Opcode::kAccept}}, {{{{1, 2}, {2, 3}}}}, 0},
      {{{Opcode::kAccept}}, {{{{0, 0x110000}}}}, 0},
  };
  for (const Program& program : malformed) {
    bool is_refused = false;
    try {
      const hf_bpe::Expression expression(program, false);
    } catch (const std::invalid_argument&) {
      is_refused = true;
    }
    CHECK(is_refused);
  }
}

}  // namespace

int main() {
  test_programs_match_as_the_naive_matcher_does();
  test_time_is_linear();
  test_memory_has_a_limit();
  test_malformed_programs_are_refused();
}
