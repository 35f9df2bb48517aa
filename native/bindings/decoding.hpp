// Decoding of ids from sequences of Python.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bindings/arrays.hpp"
#include "bindings/python.hpp"
#include "encode/decoder.hpp"

namespace hf_bpe {

class PyDecoder {
 public:
  nb::bytes decode(const Typed<nb::object, "Sequence[int]">& ids, const nb::bytes& skipped) const {
    Scratch scratch;
    const std::string_view bytes = decode_row(ids.value, view_of(skipped, "skipped"), scratch);
    return nb::bytes(bytes.data(), bytes.size());
  }

  Typed<nb::list, "list[str]"> decode_batch(const Typed<nb::list, "list[Sequence[int]]">& rows,
                                            const nb::bytes& skipped, const std::string& errors) const {
    nb::list texts;
    Scratch scratch;
    for (nb::handle row : items_of(rows.value, "rows")) {
      texts.append(text_of(decode_row(row, view_of(skipped, "skipped"), scratch), errors));
    }
    return texts;
  }

  nb::str decode_text(const Typed<nb::object, "Sequence[int]">& ids, const nb::bytes& skipped,
                      const std::string& errors) const {
    Scratch scratch;
    return text_of(decode_row(ids.value, view_of(skipped, "skipped"), scratch), errors);
  }

 protected:
  Decoder decoder_;

 private:
  struct Scratch {
    Ids ids;
    std::string bytes;
  };

  static nb::str text_of(std::string_view bytes, const std::string& errors) {
    PyObject* text = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), errors.c_str());
    if (text == nullptr) throw nb::python_error();
    return nb::steal<nb::str>(text);
  }

  // The bytes of a row, in `scratch`.
  std::string_view decode_row(nb::handle row, std::string_view skipped, Scratch& scratch) const {
    const nb::object sequence = nb::steal(PySequence_Fast(row.ptr(), "ids: expected a sequence of int"));
    if (!sequence.is_valid()) throw nb::python_error();
    Ids& ids = scratch.ids;
    if (!read_in_place(sequence, ids)) {
      ids.clear();
      for (nb::handle item : items_of(sequence, "ids")) ids.push_back(id_of(item));
    }
    std::string& bytes = scratch.bytes;
    bytes.clear();
    const std::size_t size = ids.size();
    if (const std::size_t done = decoder_.decode(ids.data(), size, skipped, bytes, kCheckSignals); done != size) {
      const Held now = items_of(sequence, "ids");  // a signal handler or a thread may have changed the list
      PyErr_SetObject(PyExc_KeyError, done < now.size() ? now[done].ptr() : Py_None);
      throw nb::python_error();
    }
    return bytes;
  }

  // False if an id is no int: others are converted by `__index__`, which may change the sequence.
  static bool read_in_place(nb::handle sequence, Ids& ids) {
    const nb::ft_object_guard lock(sequence);
    const auto size = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(sequence.ptr()));
    PyObject* const* const items = PySequence_Fast_ITEMS(sequence.ptr());
    if (!std::all_of(items, items + size, [](PyObject* item) { return PyLong_Check(item); })) return false;
    ids.resize(size);
    for (std::size_t i = 0; i < size; ++i) ids[i] = id_of(items[i]);
    return true;
  }

  // One that no token has if it is not within 32 bits.
  static std::uint32_t id_of(nb::handle item) {
    int overflow;
    const long long id = PyLong_AsLongLongAndOverflow(item.ptr(), &overflow);
    if (id == -1 && PyErr_Occurred()) throw nb::python_error();
    return overflow != 0 || id < 0 || id > 0xFFFFFFFF ? 0xFFFFFFFF : static_cast<std::uint32_t>(id);
  }
};

}  // namespace hf_bpe
