#include "bindings/row_results.hpp"

#include <algorithm>
#include <new>

#include "bindings/arrays.hpp"
#include "bindings/encoder_arguments.hpp"
#include "bindings/int_lists.hpp"

namespace hf_bpe {

std::optional<Padding> padding_of(nb::handle padding) {
  if (padding.is_none()) return std::nullopt;
  return values_of<Padding>(padding, "padding: expected None or (length or None, id, bool)");
}

std::vector<std::int64_t> Limit::spans(const std::vector<std::int64_t>& offsets) const {
  std::vector<std::int64_t> spans;
  spans.reserve(2 * offsets.size());
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const std::int64_t begin = offsets[i], end = offsets[i + 1];
    const auto kept = static_cast<std::int64_t>(std::min(static_cast<std::size_t>(end - begin), room));
    spans.push_back(cuts_left ? end - kept : begin);
    spans.push_back(cuts_left ? end : begin + kept);
  }
  return spans;
}

Limit limit_of(nb::handle limit, const std::vector<Ids>& special) {
  if (special.size() != 2) throw nb::value_error("template_ids: expected those before a text and after it");
  if (limit.is_none()) return {static_cast<std::size_t>(-1), false};
  auto [room, cuts_left] =
      values_of<std::tuple<std::size_t, bool>>(limit, "limit: expected None or (number of ids, bool)");
  return {room - std::min(room, special[0].size() + special[1].size()), cuts_left};
}

nb::tuple lists_of(const Rows& rows, std::size_t least, std::int64_t pad_id, bool is_left) {
  const nb::object pad = nb::int_(pad_id), zero = nb::int_(0), one = nb::int_(1);
  const nb::list lists = make_lists(rows.count()), masks = make_lists(rows.count());
  PollInLoop polls(kCheckSignals);
  for (std::size_t i = 0; i < rows.count(); ++i) {
    const std::size_t size = rows.length(i), length = std::max(size, least);
    const std::size_t before = is_left ? length - size : 0, after = length - size - before;
    polls(length);
    ListWriter row(lists[i], length), mask(masks[i], length);
    row.add(before, pad);
    rows.for_each_part(i, [&](const std::uint32_t* part, std::size_t of_part) { row.add(part, of_part); });
    row.add(after, pad);
    mask.add(before, zero);
    mask.add(size, one);
    mask.add(after, zero);
  }
  return nb::make_tuple(lists, masks);
}

nb::tuple arrays_of(const Rows& rows, std::size_t length, std::int64_t pad_id, bool is_left) {
  if (rows.count() != 0 && length > static_cast<std::size_t>(-1) / 16 / rows.count()) throw std::bad_alloc();
  auto filled = make_array<std::int64_t>(rows.count() * length);
  auto mask = make_array<std::int64_t>(rows.count() * length);
  without_gil(
      [&](const PollFunction& poll) { rows.write_padded(length, pad_id, is_left, filled.get(), mask.get(), poll); });
  return nb::make_tuple(to_array(filled.release(), {rows.count(), length}),
                        to_array(mask.release(), {rows.count(), length}));
}

RowLists rows_to_lists(const GivenIds& ids, const GivenNumbers& spans, const GivenTemplate& template_ids,
                       std::size_t width, std::int64_t pad_id, bool is_left) {
  return lists_of(rows_of(ids, spans, template_ids), width, pad_id, is_left);
}

Typed<nb::tuple, "tuple[Numbers, Numbers]"> rows_to_arrays(const GivenIds& ids, const GivenNumbers& spans,
                                                           const GivenTemplate& template_ids, std::size_t width,
                                                           std::int64_t pad_id, bool is_left) {
  const Rows rows = rows_of(ids, spans, template_ids);
  if (rows.longest() > width) throw nb::value_error("width: expected one that no row exceeds");
  return arrays_of(rows, width, pad_id, is_left);
}

// Rows of ints as an array; None if one is not a list of ints in 64 bits, or is longer.
nb::object pad_rows(const Typed<nb::list, "list[list[int]]">& given, std::size_t length, std::int64_t value,
                    bool is_left) {
  const Held rows = items_of(given.value, "rows");
  if (rows.size() != 0 && length > static_cast<std::size_t>(-1) / 16 / rows.size()) throw std::bad_alloc();
  auto filled = make_array<std::int64_t>(rows.size() * length);
  std::int64_t* out = filled.get();
  PollInLoop polls(kCheckSignals);
  for (nb::handle given_row : rows) {
    if (!PyList_CheckExact(given_row.ptr())) return nb::none();
    const Held row = items_of(given_row, "rows");
    if (row.size() > length) return nb::none();
    polls(length);
    if (is_left) out = std::fill_n(out, length - row.size(), value);
    for (PyObject* item : row) {
      int overflow = 0;
      const long long number = PyLong_CheckExact(item) ? PyLong_AsLongLongAndOverflow(item, &overflow) : 0;
      if (!PyLong_CheckExact(item) || overflow != 0) return nb::none();
      *out++ = number;
    }
    if (!is_left) out = std::fill_n(out, length - row.size(), value);
  }
  return to_array(filled.release(), {rows.size(), length});
}

void bind_row_results(nb::module_& module) {
  module.def("rows_to_lists", &rows_to_lists, "ids"_a, "spans"_a, "template_ids"_a, "width"_a, "pad_id"_a, "is_left"_a,
             "Return the lists of `hf_bpe.encoding._layout.Layout`.");
  module.def("rows_to_arrays", &rows_to_arrays, "ids"_a, "spans"_a, "template_ids"_a, "width"_a, "pad_id"_a,
             "is_left"_a, "Return its arrays; raise a ValueError if a row exceeds the width.");
  module.def(
      "pad_rows", &pad_rows, "rows"_a, "length"_a, "value"_a, "is_left"_a,
      nb::sig("def pad_rows(rows: list[list[int]], length: int, value: int, is_left: bool) -> Numbers | None"),
      R"(Return rows filled up to a length as an int64 array; None if one is longer, or no list of ints in 64 bits.)");
}

}  // namespace hf_bpe
