// Rows as Python gets them: how they are cut and padded, and lists and arrays of them.
#pragma once

#include <nanobind/stl/tuple.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "bindings/python.hpp"
#include "bindings/rows.hpp"

namespace hf_bpe {

using GivenTemplate = Typed<nb::object, "TemplateIds">;
using RowLists = Typed<nb::tuple, "tuple[list[list[int]], list[list[int]]]">;

// The padding of hf_bpe.encoding._layout, converted from its tuple.
using Padding = std::tuple<std::optional<std::size_t>, std::int64_t, bool>;

// None for no padding.
std::optional<Padding> padding_of(nb::handle padding);

// What truncation leaves of texts.
struct Limit {
  std::size_t room;  // ids of a text
  bool cuts_left;    // whether its first ids are removed

  // The spans of `Rows`, of one text each, whose ids begin at the offsets and end at the last.
  std::vector<std::int64_t> spans(const std::vector<std::int64_t>& offsets) const;
};

// The limit of a row, which is None or (number of ids, bool), without the special tokens before a text and after it.
Limit limit_of(nb::handle limit, const std::vector<std::vector<std::uint32_t>>& special);

// Lists of the rows and of their masks, filled up to a length; a row that is longer stays as it is.
nb::tuple lists_of(const Rows& rows, std::size_t least, std::int64_t pad_id, bool is_left);

// Arrays of the rows and of their masks, filled up to a length that no row exceeds.
nb::tuple arrays_of(const Rows& rows, std::size_t length, std::int64_t pad_id, bool is_left);

}  // namespace hf_bpe
