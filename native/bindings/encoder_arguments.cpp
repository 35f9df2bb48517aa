#include "bindings/encoder_arguments.hpp"

#include <tuple>
#include <type_traits>

#include "bindings/arrays.hpp"

namespace hf_bpe {
namespace {

using SpanArray = nb::ndarray<const std::int64_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

// The fields of hf_bpe.reference._dropout.Dropout.
Dropout dropout_of(nb::handle given, std::optional<std::size_t> texts) {
  constexpr const char* kExpected =
      "dropout: expected (seed, 64 limits, number of a text, None or a place for each text)";
  const Held fields = items_of(given, "dropout");
  Dropout dropout{};
  if (fields.size() != 4 || !nb::try_cast(fields[0], dropout.seed) || !nb::try_cast(fields[2], dropout.first_text)) {
    throw nb::type_error(kExpected);
  }
  const Held limits = items_of(fields[1], "dropout");
  if (limits.size() != dropout.limits.size()) throw nb::type_error(kExpected);
  for (std::size_t i = 0; i < limits.size(); ++i) dropout.limits[i] = number_of<std::uint64_t>(limits[i], "dropout");
  if (fields[3].is_none()) return dropout;
  dropout.places = values_of<decltype(dropout.places)>(fields[3], kExpected);
  if (texts && dropout.places.size() != *texts) throw nb::value_error("dropout: expected a place for each text");
  return dropout;
}

}  // namespace

std::vector<AddedToken> added_tokens(const nb::tuple& tokens) {
  constexpr std::uint32_t kMaxId = 0x7FFFFFFF;  // higher ids stand for bytes without a token
  std::vector<AddedToken> added;
  for (nb::handle token : tokens) {
    auto [content, id, special, normalized, lstrip, rstrip, single_word] =
        values_of<std::tuple<std::string, std::uint32_t, bool, bool, bool, bool, bool>>(
            token, "tokens: expected tuples of a str in valid Unicode, an id below 2**31 and five bools");
    if (id > kMaxId) throw nb::value_error("tokens: ids from 2**31 on are not supported");
    added.push_back({std::move(content), id, special, normalized, lstrip, rstrip, single_word});
  }
  return added;
}

EncodingOptions options_of(const nb::tuple& given, std::optional<std::size_t> texts, unsigned threads) {
  EncodingOptions options;
  std::size_t number = 0;
  const auto read = [&](auto& option) {
    const nb::object value = given[number++];
    if constexpr (std::is_same_v<decltype(option), std::optional<Dropout>&>) {
      if (!value.is_none()) option = dropout_of(value, texts);
      return true;
    } else {
      return nb::try_cast(value, option);
    }
  };
  const auto read_all = [&](auto&... option) { return given.size() == sizeof...(option) && (read(option) && ...); };
  if (!std::apply(read_all, EncodingOptions::fields(options))) throw nb::type_error("options: expected Options");
  options.threads = threads;
  return options;
}

std::vector<Ids> special_ids_of(nb::handle template_ids) {
  std::vector<Ids> special;
  for (nb::handle row : items_of(template_ids, "template_ids")) {
    Ids& last = special.emplace_back();
    for (nb::handle id : items_of(row, "template_ids")) last.push_back(number_of<std::uint32_t>(id, "template_ids"));
  }
  return special;
}

// The arrays are cast last, as other arguments may run Python code.
Rows rows_of(nb::handle ids, nb::handle spans, nb::handle template_ids) {
  std::vector<Ids> special = special_ids_of(template_ids);
  SpanArray all_spans;
  if (!nb::try_cast(spans, all_spans)) throw nb::type_error("spans: expected an int64 array of three dimensions");
  if (special.size() < 2 || all_spans.shape(1) != special.size() - 1 || all_spans.shape(2) != 2) {
    throw nb::value_error("spans: expected the shape (rows, sequences, 2), and template_ids one more than sequences");
  }
  std::vector<std::int64_t> spans_now(all_spans.data(), all_spans.data() + all_spans.size());
  IdArray all_ids;
  if (!nb::try_cast(ids, all_ids)) throw nb::type_error("ids: expected a uint32 array of one dimension");
  return Rows({all_ids.data(), all_ids.data() + all_ids.size()}, std::move(spans_now), std::move(special));
}

}  // namespace hf_bpe
