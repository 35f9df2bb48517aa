// Types for the stub of the module, hf_bpe/_native.pyi, where those of C++ say too little.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace hf_bpe {

namespace nb = nanobind;

template <std::size_t kSize>
struct TypeName {
  constexpr TypeName(const char (&name)[kSize]) { std::copy_n(name, kSize, text); }
  char text[kSize];
};

// A parameter or result that is converted like a `T`, and has another name in signatures: what a list holds, say. The
// names of Python that it has are imported by tools/native_types.txt.
template <class T, TypeName kName>
struct Typed {
  Typed() = default;
  Typed(T value) : value(std::move(value)) {}
  operator const T&() const { return value; }

  T value = nb::steal<T>(nb::handle());
};

using GivenPattern = Typed<nb::object, "str | Chain">;  // of parameters that may be None
using ByteStrings = Typed<nb::list, "list[bytes]">;
using Merges = Typed<nb::list, "list[tuple[bytes, bytes]]">;

}  // namespace hf_bpe

template <class T, hf_bpe::TypeName kName>
struct nanobind::detail::type_caster<hf_bpe::Typed<T, kName>> {
  using Type = hf_bpe::Typed<T, kName>;
  NB_TYPE_CASTER(Type, const_name(kName.text))

  template <class Flags>  // whose type differs between versions of nanobind
  bool from_python(handle source, Flags flags, cleanup_list* cleanup) noexcept {
    make_caster<T> caster;
    if (!caster.from_python(source, flags, cleanup)) return false;
    value.value = caster.operator cast_t<T>();
    return true;
  }

  static handle from_cpp(const Type& result, rv_policy policy, cleanup_list* cleanup) noexcept {
    return make_caster<T>::from_cpp(result.value, policy, cleanup);
  }
};
