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
// with the GIL. Without a GIL each call makes its own: threads that count references to the same objects wait for each
// other.
class Ints {
 public:
#if defined(Py_GIL_DISABLED)
  void make_room(std::size_t) {}
  PyObject* operator()(std::uint32_t id) const { return PyLong_FromUnsignedLong(id); }
  void prefetch(std::uint32_t) const {}
#else
  // For ids below `size`.
  void make_room(std::size_t size) { ints_.resize(std::max(ints_.size(), std::min(size, kMax))); }
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
  static constexpr std::size_t kMax = std::size_t{1} << 22;  // so that one high id does not allocate gigabytes
  mutable std::vector<nb::object> ints_;
#endif
};

// The ints of all encoders. They are never freed, because modules outlive the interpreter.
inline Ints& all_ints = *new Ints;

// Writes the items of an empty list that no other code knows, which has them when this is destroyed.
class ListWriter {
 public:
  ListWriter(nb::handle list, std::size_t size) : list_(list) {
    if (size == 0) return;
    size_ = size;
#if defined(Py_GIL_DISABLED)
    filled_ = nb::steal(PyList_New(static_cast<Py_ssize_t>(size)));
    if (!filled_.is_valid()) throw nb::python_error();
    begin_ = next_ = reinterpret_cast<PyListObject*>(filled_.ptr())->ob_item;
#else
    begin_ = next_ = PyMem_New(PyObject*, size);
    if (begin_ == nullptr) throw std::bad_alloc();
#endif
  }
  ListWriter(const ListWriter&) = delete;
  ListWriter& operator=(const ListWriter&) = delete;
  ~ListWriter() {
    if (begin_ == nullptr) return;
    const auto list = reinterpret_cast<PyListObject*>(list_.ptr());
    list->ob_item = begin_;
    list->allocated = static_cast<Py_ssize_t>(size_);
    Py_SET_SIZE(list, next_ - begin_);
#if defined(Py_GIL_DISABLED)  // memory of items has a header there, which only lists can make
    const auto emptied = reinterpret_cast<PyListObject*>(filled_.ptr());
    emptied->ob_item = nullptr;
    emptied->allocated = 0;
    Py_SET_SIZE(emptied, 0);
#endif
  }

  void add(const std::uint32_t* ids, std::size_t size) {
    constexpr std::size_t kAhead = 24;  // an int that is not in the cache is waited for
    for (const std::uint32_t* const end = ids + size; ids != end; ++ids) {
      if (static_cast<std::size_t>(end - ids) > kAhead) all_ints.prefetch(ids[kAhead]);
      PyObject* const item = all_ints(*ids);
      if (item == nullptr) throw nb::python_error();
      *next_++ = item;
    }
  }
  void add(std::size_t times, nb::handle item) {
#if defined(Py_GIL_DISABLED) || PY_VERSION_HEX >= 0x030C0000  // from 3.12 on small ints are not counted
    for (std::size_t i = 0; i < times; ++i) Py_INCREF(item.ptr());
#else
    Py_SET_REFCNT(item.ptr(), Py_REFCNT(item.ptr()) + static_cast<Py_ssize_t>(times));
#endif
    next_ = std::fill_n(next_, times, item.ptr());
  }

 private:
  nb::handle list_;
#if defined(Py_GIL_DISABLED)
  nb::object filled_;
#endif
  std::size_t size_ = 0;
  PyObject **begin_ = nullptr, **next_ = nullptr;
};

// A list of empty lists. To make a list may start the garbage collector, which visits each item of the lists made since
// it last ran; so all are made first, and then filled.
inline nb::list make_lists(std::size_t count) {
  nb::list lists;
  for (std::size_t i = 0; i < count; ++i) lists.append(nb::list());
  return lists;
}

}  // namespace hf_bpe
