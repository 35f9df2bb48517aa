// Large arrays. Huge pages are requested before the first access, if the system has them: otherwise tables with random
// access spend much of their time on address translation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace hf_bpe {

// Prefetches memory that will be read soon.
inline void prefetch(const void* address) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(address);
#else
  static_cast<void>(address);
#endif
}

// Memory directly from the system, if it is large: zeroed, and returned at once when it is freed.
class PageMemory {
 public:
  static constexpr std::align_val_t kLine{64};  // so that no small entry spans two cache lines

#if defined(__linux__)
  // A huge page is cleared as a whole, so smaller arrays take one only if they fill it.
  static bool is_mapped(std::size_t bytes) { return bytes >= 2 * kHuge || bytes == kHuge; }
  // Null if there is none.
  static void* map(std::size_t bytes) {
    const std::size_t rounded = round_up(bytes);
    void* mapped = mmap(nullptr, rounded + kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    auto* begin = static_cast<char*>(mapped);
    const std::size_t ahead =
        round_up(reinterpret_cast<std::uintptr_t>(begin)) - reinterpret_cast<std::uintptr_t>(begin);
    if (ahead != 0) munmap(begin, ahead);
    munmap(begin + ahead + rounded, kHuge - ahead);
    madvise(begin + ahead, rounded, MADV_HUGEPAGE);  // only advice: failure does not matter
    return begin + ahead;
  }
  static void unmap(void* begin, std::size_t bytes) {
    if (begin != nullptr) munmap(begin, round_up(bytes));
  }
  // Moves memory to where it can have more bytes, without a copy: only what is added is new to the system. Null if
  // there is none; then nothing has changed.
  static void* grow(void* begin, std::size_t from, std::size_t to) {
    void* const larger = map(to);
    if (larger == nullptr) return nullptr;
    const std::size_t moved = round_up(from);
    if (mremap(begin, moved, moved, MREMAP_MAYMOVE | MREMAP_FIXED, larger) == MAP_FAILED) {
      munmap(larger, round_up(to));
      return nullptr;
    }
    return larger;
  }
  // Returns the memory after the first bytes, which stay mapped.
  static void shrink(void* begin, std::size_t from, std::size_t to) {
    if (round_up(to) < round_up(from)) munmap(static_cast<char*>(begin) + round_up(to), round_up(from) - round_up(to));
  }

 private:
  static constexpr std::size_t kHuge = std::size_t{2} << 20;
  static std::size_t round_up(std::size_t bytes) { return (bytes + kHuge - 1) / kHuge * kHuge; }
#else
  static bool is_mapped(std::size_t) { return false; }
  static void* map(std::size_t) { return nullptr; }
  static void unmap(void*, std::size_t) {}
  static void* grow(void*, std::size_t, std::size_t) { return nullptr; }
  static void shrink(void*, std::size_t, std::size_t) {}
#endif
};

template <class T>
class Pages {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Pages() = default;
  // Zero-initialized.
  explicit Pages(std::size_t size) : size_(size) {
    if (size > static_cast<std::size_t>(-1) / 2 / sizeof(T)) throw std::bad_alloc();
    const std::size_t bytes = size * sizeof(T);
    if (PageMemory::is_mapped(bytes)) {
      data_ = static_cast<T*>(PageMemory::map(bytes));
      if (data_ == nullptr) throw std::bad_alloc();
    } else {
      data_ = static_cast<T*>(std::memset(::operator new(bytes, PageMemory::kLine), 0, bytes));
    }
  }
  Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Pages() {
    if (PageMemory::is_mapped(size_ * sizeof(T))) {
      PageMemory::unmap(data_, size_ * sizeof(T));
    } else {
      ::operator delete(data_, PageMemory::kLine);
    }
  }

  // Adds zeros at the end. If there is no memory, nothing changes.
  void grow(std::size_t size) {
    if (PageMemory::is_mapped(size_ * sizeof(T)) && PageMemory::is_mapped(size * sizeof(T))) {
      void* const larger = PageMemory::grow(data_, size_ * sizeof(T), size * sizeof(T));
      if (larger == nullptr) throw std::bad_alloc();
      data_ = static_cast<T*>(larger);
      size_ = size;
    } else {
      Pages larger(size);
      if (size_ != 0) std::memcpy(static_cast<void*>(larger.data_), data_, size_ * sizeof(T));
      std::swap(*this, larger);
    }
  }
  // Returns the memory after the end, if it is large. Otherwise the size stays.
  void shrink(std::size_t size) {
    if (size >= size_ || !PageMemory::is_mapped(size * sizeof(T)) || !PageMemory::is_mapped(size_ * sizeof(T))) return;
    PageMemory::shrink(data_, size_ * sizeof(T), size * sizeof(T));
    size_ = size;
  }

  std::size_t size() const { return size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t index) { return data_[index]; }
  const T& operator[](std::size_t index) const { return data_[index]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

// For vectors that grow to an unknown size.
template <class T>
struct PageAllocator {
  using value_type = T;

  PageAllocator() = default;
  template <class Other>
  PageAllocator(const PageAllocator<Other>&) {}

  T* allocate(std::size_t size) {
    if (!PageMemory::is_mapped(size * sizeof(T))) return std::allocator<T>().allocate(size);
    void* const memory = PageMemory::map(size * sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t size) {
    if (!PageMemory::is_mapped(size * sizeof(T))) return std::allocator<T>().deallocate(memory, size);
    PageMemory::unmap(memory, size * sizeof(T));
  }
  // Resizing leaves numbers to be written, maybe by several threads, each of which then touches its pages first.
  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
  }
  friend bool operator==(const PageAllocator&, const PageAllocator&) { return true; }
};

template <class T>
using PagedVector = std::vector<T, PageAllocator<T>>;

}  // namespace hf_bpe
