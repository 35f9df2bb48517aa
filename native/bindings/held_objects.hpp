// Python objects that the core reads, held so that no Python code can change or free them meanwhile.
// Python code may run whenever the GIL is released, a signal is handled, garbage is collected or `__index__` is called,
// and it may change any list, dict, bytearray or array. So the items of a list are referenced all at once, before
// anything else happens, and texts are read in place only if their bytes cannot change. Without a GIL other threads may
// run at any time; so lists and dicts are read under their locks (nb::ft_object_guard, which does nothing with a GIL).
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "text/chunks.hpp"

namespace hf_bpe {

namespace nb = nanobind;

// References to several objects. Must be destroyed with the GIL.
class Held {
 public:
  Held() = default;
  Held(PyObject* const* objects, std::size_t size) : objects_(objects, objects + size) {
    for (PyObject* object : objects_) Py_INCREF(object);
  }
  Held(Held&& other) noexcept = default;  // the other has none afterwards
  ~Held() {
    for (PyObject* object : objects_) Py_DECREF(object);
  }
  std::size_t size() const { return objects_.size(); }
  nb::handle operator[](std::size_t i) const { return objects_[i]; }
  PyObject* const* begin() const { return objects_.data(); }
  PyObject* const* end() const { return objects_.data() + objects_.size(); }

 private:
  std::vector<PyObject*> objects_;
};

// A snapshot of a list or tuple. It allocates no Python objects, so no Python code runs.
inline Held items_of(nb::handle sequence, const char* what) {
  if (!PyList_Check(sequence.ptr()) && !PyTuple_Check(sequence.ptr())) {
    const std::string type = nb::cast<std::string>(sequence.type().attr("__name__"));
    throw nb::type_error((std::string(what) + ": expected a list or tuple, got " + type).c_str());
  }
  const auto held = [&] {
    const auto size = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(sequence.ptr()));
    return Held(PySequence_Fast_ITEMS(sequence.ptr()), size);
  };
  if (PyTuple_Check(sequence.ptr())) return held();  // unlocked, as threads would wait for one that they share
  const nb::ft_object_guard lock(sequence);
  return held();
}

// A snapshot of the keys and values of a dict.
inline std::vector<std::pair<nb::object, nb::object>> items_of(const nb::dict& dict) {
  std::vector<std::pair<nb::object, nb::object>> items;
  const nb::ft_object_guard lock(dict);
  items.reserve(dict.size());
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict.ptr(), &at, &key, &value);) {
    items.emplace_back(nb::borrow(key), nb::borrow(value));
  }
  return items;
}

// Texts that the core reads without the GIL: str, bytes, and files mapped for reading. Mutable ones are refused: a
// bytearray, an array, and a memoryview of either, even if it claims to be read-only. Must be destroyed with the GIL.
class HeldTexts {
 public:
  struct Options {
    bool must_be_utf8 = false;        // for bytes
    bool may_be_mapped = false;       // whether a text may be an mmap
    bool repairs_surrogates = false;  // for str, like hf_bpe.pretokenizers._byte_level; else a UnicodeEncodeError
    std::size_t max_wide_bytes = 0;   // the longest str that is not converted to UTF-8, if surrogates are repaired
  };

  HeldTexts(const nb::list& list, Options options) : options_(options), held_(items_of(list, "texts")) {
    texts.reserve(held_.size());
    for (std::size_t i = 0; i < held_.size(); ++i) add(held_[i]);
  }
  // A single text.
  HeldTexts(nb::object text, Options options) : options_(options), only_(std::move(text)) { add(only_); }
  HeldTexts(const HeldTexts&) = delete;
  HeldTexts& operator=(const HeldTexts&) = delete;

  std::vector<Text> texts;

 private:
  class BufferView {
   public:
    explicit BufferView(nb::handle object) {
      if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
    }
    BufferView(BufferView&& other) noexcept : view_(std::exchange(other.view_, Py_buffer{})) {}
    ~BufferView() { PyBuffer_Release(&view_); }
    const Py_buffer& operator*() const { return view_; }

   private:
    Py_buffer view_;
  };

  void add(nb::handle object) {
    if (PyUnicode_Check(object.ptr())) {
      add_str(object);
    } else if (PyBytes_Check(object.ptr())) {
      add_bytes(PyBytes_AS_STRING(object.ptr()), PyBytes_GET_SIZE(object.ptr()), false);
    } else if (options_.may_be_mapped && object.type().is(nb::module_::import_("mmap").attr("mmap"))) {
      views_.emplace_back(object);  // meanwhile it can be neither closed nor resized
      const Py_buffer& view = *views_.back();
      if (!view.readonly) refuse("an mmap that can be written to; map it with access=mmap.ACCESS_READ");
      add_bytes(view.buf, view.len, true);
    } else {
      const bool is_buffer = PyObject_CheckBuffer(object.ptr());
      const std::string type = nb::cast<std::string>(object.type().attr("__name__"));
      refuse(is_buffer ? type + ", which can change; give bytes(text)" : type);
    }
  }

  [[noreturn]] void refuse(const std::string& got) const {
    const char* expected =
        options_.may_be_mapped ? ": expected str, bytes or mmap, got " : ": expected str or bytes, got ";
    throw nb::type_error(("text " + std::to_string(texts.size()) + expected + got).c_str());
  }

  void add_bytes(const void* data, Py_ssize_t size, bool is_mapped) {
    const Byte* begin = static_cast<const Byte*>(data);
    texts.push_back({begin, begin + size, options_.must_be_utf8, is_mapped});
  }

  void add_str(nb::handle str) {
#if PY_VERSION_HEX < 0x030C0000
    if (PyUnicode_READY(str.ptr()) != 0) throw nb::python_error();
#endif
    // Requesting UTF-8 is slow, and leaves a copy in the str for its lifetime.
    const auto width = static_cast<unsigned>(PyUnicode_KIND(str.ptr()));
    const std::size_t bytes = static_cast<std::size_t>(PyUnicode_GET_LENGTH(str.ptr())) * width;
    if (!PyUnicode_IS_ASCII(str.ptr()) && bytes <= options_.max_wide_bytes) {
      const Byte* data = static_cast<const Byte*>(PyUnicode_DATA(str.ptr()));
      texts.push_back({data, data + bytes, false, false, width});
      return;
    }
    Py_ssize_t size;
    const char* data = PyUnicode_AsUTF8AndSize(str.ptr(), &size);  // for ASCII, the buffer of the str itself
    if (data == nullptr && options_.repairs_surrogates && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
      PyErr_Clear();
      repaired_.push_back(repaired(str));
      data = PyUnicode_AsUTF8AndSize(repaired_.back().ptr(), &size);
    }
    if (data == nullptr) throw nb::python_error();
    const Byte* begin = reinterpret_cast<const Byte*>(data);
    texts.push_back({begin, begin + size});
  }

  // Joins surrogates that form UTF-16 pairs, and replaces the others by U+FFFD.
  static nb::object repaired(nb::handle str) {
    const nb::object utf16 = nb::steal(PyUnicode_AsEncodedString(str.ptr(), "utf-16", "surrogatepass"));
    if (!utf16.is_valid()) throw nb::python_error();
    nb::object text = nb::steal(PyUnicode_FromEncodedObject(utf16.ptr(), "utf-16", "replace"));
    if (!text.is_valid()) throw nb::python_error();
    return text;
  }

  Options options_;
  Held held_;                         // the given texts
  nb::object only_;                   // or the single text
  std::vector<nb::object> repaired_;  // repaired texts, read instead
  std::vector<BufferView> views_;
};

// A copy of the part of a buffer that holds several texts. Must be made with the GIL.
class CopiedSpan {
 public:
  // Text i is from begins[i] to ends[i]. Throws unless each is within the buffer.
  CopiedSpan(nb::handle buffer, const std::vector<std::int64_t>& begins, const std::vector<std::int64_t>& ends) {
    if (begins.size() != ends.size()) throw nb::value_error("begins, ends: expected one of each for a text");
    Py_buffer view;
    if (PyObject_GetBuffer(buffer.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
    bool are_inside = true;
    std::int64_t first = view.len, last = 0;
    for (std::size_t i = 0; i < begins.size(); ++i) {
      are_inside = are_inside && 0 <= begins[i] && begins[i] <= ends[i] && ends[i] <= view.len;
      if (begins[i] == ends[i]) continue;
      first = std::min(first, begins[i]);
      last = std::max(last, ends[i]);
    }
    if (are_inside && first < last) {
      const Byte* data = static_cast<const Byte*>(view.buf);
      copy_.assign(data + first, data + last);
    }
    PyBuffer_Release(&view);
    if (!are_inside) throw nb::value_error("begins, ends: expected positions in order and within the data");
    texts.reserve(begins.size());
    for (std::size_t i = 0; i < begins.size(); ++i) {
      const Byte* begin = copy_.data() + (begins[i] == ends[i] ? 0 : begins[i] - first);
      texts.push_back({begin, begin + (ends[i] - begins[i])});
    }
  }

  CopiedSpan(const CopiedSpan&) = delete;  // whose texts would point into this one

  std::vector<Text> texts;

 private:
  std::vector<Byte> copy_ = std::vector<Byte>(1);  // never without memory
};

}  // namespace hf_bpe
