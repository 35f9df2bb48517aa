// Lists of ints: rows of ids and their masks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "bindings/python.hpp"
#include "support/pages.hpp"

namespace hf_bpe {

// Cached int objects of ids, so that a list costs little more than its memory. Each is made when it is first needed,
// with the GIL.
class Ints {
 public:
  explicit Ints(std::size_t size) : ints_(std::min(size, kMost)) {}
  // A new reference to the int of an id; null with a Python error set.
  PyObject* operator()(std::uint32_t id) const {
    if (id >= ints_.size()) [[unlikely]]
      return PyLong_FromUnsignedLong(id);  // an added token may have a higher one
    nb::object& known = ints_[id];
    if (!known.is_valid()) [[unlikely]]
      known = nb::steal(PyLong_FromUnsignedLong(id));
    return known.inc_ref().ptr();
  }
  void prefetch(std::uint32_t id) const {
    if (id < ints_.size()) hf_bpe::prefetch(ints_[id].ptr());
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 22;  // so that one high id does not allocate gigabytes
  mutable std::vector<nb::object> ints_;
};

// Writes the items of an empty list, which has them when this is destroyed.
class ListWriter {
 public:
  ListWriter(nb::handle list, std::size_t size) : list_(list) {
#if !defined(Py_GIL_DISABLED)
    if (size == 0) return;
    size_ = size;
    begin_ = next_ = PyMem_New(PyObject*, size);
    if (begin_ == nullptr) throw std::bad_alloc();
#endif
  }
  ListWriter(const ListWriter&) = delete;
  ListWriter& operator=(const ListWriter&) = delete;
  ~ListWriter() {
#if !defined(Py_GIL_DISABLED)
    if (begin_ == nullptr) return;
    const auto list = reinterpret_cast<PyListObject*>(list_.ptr());
    list->ob_item = begin_;
    list->allocated = static_cast<Py_ssize_t>(size_);
    Py_SET_SIZE(list, next_ - begin_);
#endif
  }

  void add(const Ints& ints, const std::uint32_t* ids, std::size_t size) {
    constexpr std::size_t kAhead = 24;  // an int that is not in the cache is waited for
    for (const std::uint32_t* const end = ids + size; ids != end; ++ids) {
      if (static_cast<std::size_t>(end - ids) > kAhead) ints.prefetch(ids[kAhead]);
      PyObject* const item = ints(*ids);
      if (item == nullptr) throw nb::python_error();
      push(item);
    }
  }
  void add(std::size_t times, nb::handle item) {
#if defined(Py_GIL_DISABLED) || PY_VERSION_HEX >= 0x030C0000  // from 3.12 on small ints are not counted
    for (std::size_t i = 0; i < times; ++i) push(item.inc_ref().ptr());
#else
    Py_SET_REFCNT(item.ptr(), Py_REFCNT(item.ptr()) + static_cast<Py_ssize_t>(times));
    next_ = std::fill_n(next_, times, item.ptr());
#endif
  }

 private:
  // Takes the reference.
  void push(PyObject* item) {
#if defined(Py_GIL_DISABLED)  // items of lists are held in another way
    const bool is_appended = PyList_Append(list_.ptr(), item) == 0;
    Py_DECREF(item);
    if (!is_appended) throw nb::python_error();
#else
    *next_++ = item;
#endif
  }

  nb::handle list_;
#if !defined(Py_GIL_DISABLED)
  std::size_t size_ = 0;
  PyObject **begin_ = nullptr, **next_ = nullptr;
#endif
};

// A list of empty lists. To make a list may start the garbage collector, which visits each item of the lists made since
// it last ran; so all are made first, and then filled.
inline nb::list make_lists(std::size_t count) {
  nb::list lists;
  for (std::size_t i = 0; i < count; ++i) lists.append(nb::list());
  return lists;
}

}  // namespace hf_bpe
