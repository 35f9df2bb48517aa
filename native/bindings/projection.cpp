// Python bindings of the projection of ids.
#include "encode/projection.hpp"

#include <cstring>

#include "bindings/arrays.hpp"
#include "bindings/python.hpp"

namespace hf_bpe {
namespace {

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::vector<T> numbers_in(const nb::bytes& bytes) {
  std::vector<T> numbers(bytes.size() / sizeof(T));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.c_str(), numbers.size() * sizeof(T));
  return numbers;
}

template <class In, class Out>
nb::tuple project(const Array<In>& ids, const std::vector<std::int64_t>& ends,
                  const std::vector<ProjectedToken>& tokens, const std::vector<Out>& values) {
  for (const ProjectedToken& token : tokens) {
    if (token.begin > values.size() ||
        std::max<std::size_t>(token.size, Projection::kCopied) > values.size() - token.begin) {
      throw nb::value_error("tokens: expected lists within the values, and four more values");
    }
  }
  if (!std::is_sorted(ends.begin(), ends.end()) ||
      (!ends.empty() && (ends[0] < 0 || static_cast<std::size_t>(ends.back()) > ids.size()))) {
    throw nb::value_error("ends: expected positions in order and within the ids");
  }
  ProjectedIds<Out> projected;
  std::vector<std::int64_t> new_ends;
  new_ends.reserve(ends.size());
  try {
    Poll poll{nb::none()};
    const NoGil no_gil;
    Projection::append(ids.data(), ids.size(), ends, tokens, values.data(), projected, new_ends, [&] { poll(0); });
  } catch (const std::out_of_range& error) {
    throw nb::value_error((std::string("ids: no token has the id ") + error.what()).c_str());
  }
  const std::size_t size = projected.size();
  return nb::make_tuple(to_array(projected.release(), {size}), to_array(new_ends));
}

template <class Out>
nb::tuple project_to(const nb::object& given, const std::vector<std::int64_t>& ends, const nb::bytes& tokens,
                     const nb::bytes& values) {
  const auto lists = numbers_in<ProjectedToken>(tokens);
  const auto flat = numbers_in<Out>(values);
  if (Array<std::uint16_t> ids; nb::try_cast(given, ids, false)) return project(ids, ends, lists, flat);
  if (Array<std::uint32_t> ids; nb::try_cast(given, ids, false)) return project(ids, ends, lists, flat);
  throw nb::type_error("ids: expected an array of uint16 or uint32 of one dimension");
}

// The array of ids is held while it is read; that of ends is copied.
Typed<nb::tuple, "tuple[AnyIds, Numbers]"> project_ids(const Typed<nb::object, "AnyIds">& ids, const GivenNumbers& ends,
                                                       const nb::bytes& tokens, const nb::bytes& values, bool is_wide) {
  Array<std::int64_t> given;
  if (!nb::try_cast(ends.value, given)) throw nb::type_error("ends: expected an int64 array of one dimension");
  const std::vector<std::int64_t> copied(given.data(), given.data() + given.size());
  return is_wide ? project_to<std::uint32_t>(ids, copied, tokens, values)
                 : project_to<std::uint16_t>(ids, copied, tokens, values);
}

}  // namespace

void bind_projection(nb::module_& module) {
  module.def("project_ids", &project_ids, "ids"_a, "ends"_a, nb::kw_only(), "tokens"_a, "values"_a, "is_wide"_a,
             R"(Return ids with each replaced by a list of ids, and the positions at which rows end.

Args:
    ids: uint16 or uint32.
    ends: the positions in `ids` at which rows end.
    tokens: by id, two uint32: where the list begins in the values, and its length, 0 for an id that does not exist.
    values: uint32, or uint16 if not `is_wide`: the lists, and four more numbers.
    is_wide: whether the result is uint32 rather than uint16.
)");
}

}  // namespace hf_bpe
