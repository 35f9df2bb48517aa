// The first byte chooses how a program is made of those that follow: as the compiler writes it, to be compared with a
// naive matcher, or of any instructions, which must be refused or run safely. The rest is text.
#include "tests/expressions.hpp"

namespace {

// At most this many, because the time of instructions that share a body may double with each.
constexpr std::size_t kMaxBodies = 6;

hf_bpe::Program any_program(const naive::Draw& draw) {
  using namespace hf_bpe;
  Program program;
  program.tests = {{{{'a', 'b'}}}, {{{0x80, 0xFFFF}}, true}, {{{0, 0x10FFFF}}, true}};
  const std::size_t size = 1 + draw(24);
  for (std::size_t i = 0, bodies = 0; i < size; ++i) {
    auto opcode = Opcode{static_cast<std::uint32_t>(draw(7))};
    if ((opcode == Opcode::kLook || opcode == Opcode::kAtomic) && ++bodies > kMaxBodies) opcode = Opcode::kAccept;
    const auto operand = [&] { return static_cast<std::uint32_t>(draw(size + 1)); };
    const auto test = [&] { return static_cast<std::uint32_t>(draw(4)); };
    const bool has_test = opcode == Opcode::kCharacter || opcode == Opcode::kCheck;
    program.instructions.push_back({opcode, has_test ? test() : operand(),
                                    opcode == Opcode::kCheck ? test() : operand(),
                                    opcode == Opcode::kLook ? static_cast<std::uint32_t>(draw(3)) : operand(),
                                    static_cast<std::uint32_t>(draw(3))});
  }
  program.start = static_cast<std::uint32_t>(draw(size + 1));
  return program;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace naive;
  if (size < 2) return 0;
  const std::uint8_t choice = data[0];
  std::size_t at = 1;
  const Draw draw = [&](std::size_t below) { return at < size ? data[at++] % below : 0; };
  const auto behavior = Behavior{choice / 4 % 5};
  const bool is_mapped = choice & 1, is_any = choice & 2;
  const Program program = is_any ? any_program(draw) : ProgramMaker(draw).make();
  const std::string text(data + at, data + std::min(size, at + 64));
  if (!is_any) {
    check_program(program, text, is_mapped, behavior, choice >= 128);
    return 0;
  }
  const auto chain = std::make_shared<Chain>();
  try {
    chain->stages.push_back({hf_bpe::Expression(program, is_mapped), behavior, choice >= 128});
  } catch (const std::invalid_argument&) {
    return 0;
  }
  const auto* const begin = reinterpret_cast<const Byte*>(text.data());
  try {
    ChainSplitter(chain).split(begin, begin + text.size(), kNoPoll,
                               [](const Byte*, const Byte* const*, std::size_t) {});
  } catch (const hf_bpe::ExpressionTooCostly&) {  // a loop that passes no character: the limit of memory ends it
  }
  return 0;
}
