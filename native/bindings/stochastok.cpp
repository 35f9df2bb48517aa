// Python bindings of StochasTok.
#include "encode/stochastok.hpp"

#include <cstring>

#include "bindings/arrays.hpp"
#include "bindings/python.hpp"

namespace hf_bpe {
namespace {

// The arrays are cast last, and copied, as other arguments may run Python code.
Typed<nb::tuple, "tuple[Ids, Numbers]"> split_tokens(const GivenIds& ids, const GivenNumbers& offsets,
                                                     const GivenNumbers& steps, const GivenNumbers& numbers,
                                                     const nb::bytes& begins, const nb::bytes& pairs,
                                                     std::uint64_t seed) {
  using Numbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  constexpr const char* kNumbers = "offsets, steps, numbers: expected int64 arrays of one dimension";
  const auto numbers_of = [&](const nb::object& given) {
    Numbers array;
    if (!nb::try_cast(given, array)) throw nb::type_error(kNumbers);
    return std::vector<std::int64_t>(array.data(), array.data() + array.size());
  };
  const std::vector<std::int64_t> ends = numbers_of(offsets);
  const std::vector<std::int64_t> all_steps = numbers_of(steps), all_numbers = numbers_of(numbers);
  IdArray all_ids;
  if (!nb::try_cast(ids.value, all_ids)) throw nb::type_error("ids: expected a uint32 array of one dimension");
  const Ids given(all_ids.data(), all_ids.data() + all_ids.size());
  const std::size_t texts = all_steps.size();
  if (ends.size() != texts + 1 || all_numbers.size() != texts || ends[0] < 0 ||
      !std::is_sorted(ends.begin(), ends.end()) || static_cast<std::size_t>(ends.back()) > given.size()) {
    throw nb::value_error("offsets: expected one more than texts, in order and within the ids");
  }
  if (std::any_of(all_steps.begin(), all_steps.end(), [](std::int64_t count) { return count < 0; })) {
    throw nb::value_error("steps: expected none below 0");
  }
  std::vector<std::uint32_t> all_begins(begins.size() / sizeof(std::uint32_t));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> all_pairs(pairs.size() / sizeof(all_pairs[0]));
  if (!all_begins.empty()) std::memcpy(all_begins.data(), begins.c_str(), all_begins.size() * sizeof(std::uint32_t));
  for (std::size_t i = 0; i < all_pairs.size(); ++i) std::memcpy(&all_pairs[i], pairs.c_str() + i * 8, 8);
  if (all_begins.empty() || !std::is_sorted(all_begins.begin(), all_begins.end()) ||
      all_begins.back() > all_pairs.size()) {
    throw nb::value_error("begins: expected one for each id and the end, in order and within the pairs");
  }
  const TokenSplits splits{all_begins.data(), all_begins.size() - 1, all_pairs.data()};
  Ids split;
  std::vector<std::int64_t> split_offsets = {0};
  {
    Poll poll{nb::none()};
    const NoGil no_gil;
    for (std::size_t i = 0; i < texts; ++i) {
      const auto size = static_cast<std::size_t>(ends[i + 1] - ends[i]);
      const StochasticText text{given.data() + ends[i], size, static_cast<std::uint64_t>(all_steps[i]),
                                static_cast<std::uint64_t>(all_numbers[i])};
      apply_stochastok(text, splits, seed, split, [&] { poll(0); });
      split_offsets.push_back(static_cast<std::int64_t>(split.size()));
      poll(0);
    }
  }
  auto array = make_array<std::uint32_t>(split.size());
  std::copy(split.begin(), split.end(), array.get());
  return nb::make_tuple(to_array(array.release(), {split.size()}), to_array(split_offsets));
}

}  // namespace

void bind_stochastok(nb::module_& module) {
  module.def("split_tokens", &split_tokens, "ids"_a, "offsets"_a, "steps"_a, "numbers"_a, nb::kw_only(), "begins"_a,
             "pairs"_a, "seed"_a, R"(Return the ids of texts after StochasTok, and their offsets.

Args:
    ids, offsets: the ids of the texts, like the results of `Encoder.encode_to_numpy`.
    steps: how often a token of each text is chosen.
    numbers: the numbers of the texts.
    begins: uint32 by id, and the end: where the pairs of each token are.
    pairs: uint32, two for each pair.
    seed: the seed.
)");
}

}  // namespace hf_bpe
