// Large arrays. Where the system has huge pages they are asked for before the first touch: tables that are read
// at random spend much of their time on address translation otherwise.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace hf_bpe {

// Asks for memory that will be read soon.
inline void prefetch(const void* address) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(address);
#else
  static_cast<void>(address);
#endif
}

template <class T>
class Pages {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Pages() = default;
  // Of zeros.
  explicit Pages(std::size_t size) : Pages(size, Unset{}) { std::memset(static_cast<void*>(data_), 0, size * sizeof(T)); }
  // Of anything.
  static Pages unset(std::size_t size) { return Pages(size, Unset{}); }
  Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Pages() { std::free(data_); }

  std::size_t size() const { return size_; }
  T* data() { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  T& operator[](std::size_t index) { return data_[index]; }
  const T& operator[](std::size_t index) const { return data_[index]; }

 private:
  struct Unset {};
  Pages(std::size_t size, Unset) : size_(size) {
    constexpr std::size_t kHuge = std::size_t{2} << 20;
    if (size > static_cast<std::size_t>(-1) / 2 / sizeof(T)) throw std::bad_alloc();
    const std::size_t bytes = size * sizeof(T);
#if defined(__linux__)
    if (bytes >= 2 * kHuge) {
      const std::size_t rounded = (bytes + kHuge - 1) / kHuge * kHuge;
      data_ = static_cast<T*>(std::aligned_alloc(kHuge, rounded));
      if (data_ != nullptr) madvise(data_, rounded, MADV_HUGEPAGE);  // advice: it does not matter whether it is taken
    } else {
      data_ = static_cast<T*>(std::malloc(bytes));
    }
#else
    data_ = static_cast<T*>(std::malloc(bytes));
#endif
    if (data_ == nullptr && bytes != 0) throw std::bad_alloc();
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace hf_bpe
