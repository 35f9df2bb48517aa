// Chains of compiled expressions: the patterns that have no name.
#include <algorithm>
#include <cstring>

#include "bindings/python.hpp"

namespace hf_bpe {
namespace {

// The numbers in bytes, which Python wrote as an array of uint32.
std::vector<std::uint32_t> numbers_in(nb::handle bytes, std::size_t multiple, const char* what) {
  const std::string_view data = view_of(bytes, what);
  if (data.size() % (sizeof(std::uint32_t) * multiple) != 0) {
    throw nb::value_error((std::string(what) + ": expected groups of " + std::to_string(multiple) + " uint32").c_str());
  }
  std::vector<std::uint32_t> numbers(data.size() / sizeof(std::uint32_t));
  if (!data.empty()) std::memcpy(numbers.data(), data.data(), data.size());
  return numbers;
}

Stage stage_of(nb::handle stage) {
  const Held fields = items_of(stage, "stage");
  if (fields.size() != 10) throw nb::value_error("stage: expected 10 fields");
  Program program;
  const std::vector<std::uint32_t> code = numbers_in(fields[0], 5, "instructions");
  for (std::size_t i = 0; i < code.size(); i += 5) {
    program.instructions.push_back({Opcode{code[i]}, code[i + 1], code[i + 2], code[i + 3], code[i + 4]});
  }
  program.start = number_of<std::uint32_t>(fields[1], "start");
  for (nb::handle characters : items_of(fields[2], "tests")) {
    const std::vector<std::uint32_t> bounds = numbers_in(characters, 2, "tests");
    CharacterTest& test = program.tests.emplace_back();
    for (std::size_t i = 0; i < bounds.size(); i += 2) test.ranges.push_back({bounds[i], bounds[i + 1]});
  }
  const std::string_view edges = view_of(fields[3], "edges");
  if (edges.size() != program.tests.size()) throw nb::value_error("edges: expected one byte for each test");
  for (std::size_t i = 0; i < edges.size(); ++i) program.tests[i].has_edge = edges[i] != 0;
  const auto behavior = number_of<std::uint32_t>(fields[4], "behavior");
  if (behavior > static_cast<std::uint32_t>(Behavior::kContiguous)) throw nb::value_error("behavior: expected 0 to 4");
  const bool invert = number_of<std::uint32_t>(fields[5], "invert") != 0;
  const bool is_mapped = number_of<std::uint32_t>(fields[6], "is_mapped") != 0;
  const bool adds_space = number_of<std::uint32_t>(fields[7], "adds_space") != 0;
  const bool only_first = number_of<std::uint32_t>(fields[8], "only_first") != 0;
  const std::string space(view_of(fields[9], "space"));
  return {Expression(std::move(program), is_mapped),
          Behavior{static_cast<int>(behavior)},
          invert,
          adds_space,
          only_first,
          space};
}

using GivenStages = Typed<nb::object, "list[tuple[bytes, int, list[bytes], bytes, int, int, int, int, int, bytes]]">;

std::shared_ptr<const Chain> chain_of(nb::handle stages, nb::bytes cuts) {
  constexpr std::size_t kMaxStages = 64;  // splitting is recursive
  auto chain = std::make_shared<Chain>();
  const Held held = items_of(stages, "stages");
  if (held.size() > kMaxStages) throw nb::value_error("stages: expected at most 64");
  for (nb::handle stage : held) chain->stages.push_back(stage_of(stage));
  if (std::ranges::count(chain->stages, true, &Stage::adds_space) > 1) {
    throw nb::value_error("stages: expected at most one that adds spaces");
  }
  const std::string_view pairs = view_of(cuts, "cuts");
  if (pairs.size() != 128 * 128) throw nb::value_error("cuts: expected a byte for each pair of ASCII characters");
  for (std::size_t i = 0; i < pairs.size(); ++i) chain->cuts[i / 128][i % 128] = pairs[i] != 0;
  return chain;
}

}  // namespace

void bind_patterns(nb::module_& module) {
  nb::class_<PyChain>(module, "Chain", R"(A pattern that has no name: stages of compiled expressions.

Args:
    stages: for each its instructions, as an array of five uint32 each; the number of the first; the ranges of its
        sets of characters, as arrays of uint32; a byte for each set that says whether it has the edge of the text;
        the number of its behavior; whether matches and what is between them change places; whether it sees the
        printable characters of bytes; whether it first puts a space before pieces, as at most one stage does;
        whether only at the beginning of a text; and what it writes spaces as, empty to leave them.
        See `hf_bpe.pretokenizers._chain_programs`.
    cuts: a byte for each pair of ASCII characters, which says whether any text may be cut between them.

Raises:
    ValueError: a program is malformed.
)")
      .def(
          "__init__",
          [](PyChain* self, const GivenStages& stages, nb::bytes cuts) {
            new (self) PyChain{chain_of(stages.value, cuts)};
          },
          "stages"_a, "cuts"_a);
}

}  // namespace hf_bpe
