// NumPy arrays of the bindings.
#pragma once

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "bindings/python.hpp"

namespace hf_bpe {

using Ids = std::vector<std::uint32_t>;
using IdArray = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Arrays that are cast by the functions that take them.
using GivenIds = Typed<nb::object, "Ids">;
using GivenNumbers = Typed<nb::object, "Numbers">;

template <class T>
nb::object to_array(T* data, std::vector<std::size_t> shape) {
  const nb::capsule owner(data, [](void* memory) noexcept { std::free(memory); });
  return nb::cast(nb::ndarray<nb::numpy, T>(data, shape.size(), shape.data(), owner));
}

// An uninitialized array of `size` numbers.
template <class T>
std::unique_ptr<T, decltype(&std::free)> make_array(std::size_t size) {
  std::unique_ptr<T, decltype(&std::free)> array(
      static_cast<T*>(std::malloc(std::max<std::size_t>(size, 1) * sizeof(T))), &std::free);
  if (!array) throw std::bad_alloc();
  return array;
}

inline nb::object to_array(const std::vector<std::int64_t>& numbers) {
  auto array = make_array<std::int64_t>(numbers.size());
  std::copy(numbers.begin(), numbers.end(), array.get());
  return to_array(array.release(), {numbers.size()});
}

// A copy, because any thread may change the array.
inline std::vector<std::int64_t> numbers_in(const GivenNumbers& given, const char* name) {
  nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> array;
  if (!nb::try_cast(given.value, array)) {
    throw nb::type_error((std::string(name) + ": expected an int64 array of one dimension").c_str());
  }
  return {array.data(), array.data() + array.size()};
}

}  // namespace hf_bpe
