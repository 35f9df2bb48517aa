// Arguments of the encoder, converted from the tuples and arrays of hf_bpe.encoding._encoder.
#pragma once

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "added_tokens/added_tokens.hpp"
#include "bindings/python.hpp"
#include "bindings/rows.hpp"
#include "encode/encoder.hpp"

namespace hf_bpe {

// The values of a tuple, which unlike a list cannot change during the conversion.
template <class Values>
Values values_of(nb::handle tuple, const char* expected) {
  Values values;
  if (!PyTuple_Check(tuple.ptr()) || !nb::try_cast(tuple, values)) throw nb::type_error(expected);
  return values;
}

std::vector<AddedToken> added_tokens(const nb::tuple& tokens);

// `texts` is how many are encoded, unless nobody knows yet.
EncodingOptions options_of(const nb::tuple& given, std::optional<std::size_t> texts, unsigned threads = 1);

// The ids of a template, before the first sequence of a row and after each.
std::vector<std::vector<std::uint32_t>> special_ids_of(nb::handle template_ids);

// Copies of the arrays, because any thread may change them.
Rows rows_of(nb::handle ids, nb::handle spans, nb::handle template_ids);

}  // namespace hf_bpe
