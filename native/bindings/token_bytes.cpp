// Python bindings of what the tokens of vocabularies stand for.
#include "encode/token_bytes.hpp"

#include "bindings/arrays.hpp"
#include "bindings/python.hpp"

namespace hf_bpe {
namespace {

// Arrays are copied, because other threads may change them.
Ids ids_of(const GivenIds& given, const char* message) {
  IdArray array;
  if (!nb::try_cast(given.value, array)) throw nb::type_error(message);
  return {array.data(), array.data() + array.size()};
}

// Bytes, which cannot change, are read in place.
TokenBytes tokens_of(const nb::bytes& data, const nb::bytes& offsets) {
  if (offsets.size() == 0 || offsets.size() % sizeof(std::int64_t) != 0 ||
      reinterpret_cast<std::uintptr_t>(offsets.c_str()) % alignof(std::int64_t) != 0) {
    throw nb::value_error("offsets: expected int64 in bytes, one more than tokens");
  }
  const auto* numbers = reinterpret_cast<const std::int64_t*>(offsets.c_str());
  return {{data.c_str(), data.size()}, numbers, offsets.size() / sizeof(std::int64_t) - 1};
}

nb::bytes join_tokens(const nb::bytes& data, const nb::bytes& offsets, const GivenIds& ids) {
  const Ids copied = ids_of(ids, "ids: expected a uint32 array of one dimension");
  const std::string joined = without_gil([&](const auto& poll) { return tokens_of(data, offsets).join(copied, poll); });
  return nb::bytes(joined.data(), joined.size());
}

Typed<nb::object, "Numbers"> longest_prefixes_of(const nb::bytes& data, const nb::bytes& offsets,
                                                 const nb::bytes& other_data, const nb::bytes& other_offsets,
                                                 const GivenIds& candidates) {
  const Ids copied = ids_of(candidates, "candidates: expected a uint32 array of one dimension");
  return to_array(without_gil([&](const auto& poll) {
    return longest_prefixes(tokens_of(data, offsets), tokens_of(other_data, other_offsets), copied, poll);
  }));
}

}  // namespace

void bind_token_bytes(nb::module_& module) {
  module.def("join_tokens", &join_tokens, "data"_a, "offsets"_a, "ids"_a, R"(Return the bytes of ids.

Args:
    data: the bytes of all tokens.
    offsets: int64, one more than tokens: the bytes of token i are `data[offsets[i] : offsets[i + 1]]`.
    ids: the ids.

Raises:
    ValueError: offsets are not in order, or an id is too high.
)");
  module.def("longest_prefixes", &longest_prefixes_of, "data"_a, "offsets"_a, "other_data"_a, "other_offsets"_a,
             "candidates"_a,
             R"(Return for each token the id of the longest token of another vocabulary that is a prefix of it, or -1.

Args:
    data, offsets: the tokens, as for `join_tokens`.
    other_data, other_offsets: those of the other vocabulary.
    candidates: the ids of the other vocabulary that count; of equal tokens the first is taken.
)");
}

}  // namespace hf_bpe
