// A growing array of ids that is written beyond its end, and whose memory can be released to the caller.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

namespace hf_bpe {

class IdBuffer {
 public:
  IdBuffer() = default;
  IdBuffer(IdBuffer&& other) noexcept { *this = std::move(other); }
  IdBuffer& operator=(IdBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~IdBuffer() { std::free(data_); }

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  const std::uint32_t* begin() const { return data_; }
  std::uint32_t* begin() { return data_; }
  const std::uint32_t* end() const { return data_ + size_; }

  // Makes room for this many ids in all.
  void reserve(std::size_t capacity) {
    if (capacity > capacity_) grow(capacity);
  }
  bool has_room(std::size_t more) const { return capacity_ - size_ >= more; }
  // The position of the next ids, with room for `more` of them.
  std::uint32_t* room(std::size_t more) {
    if (capacity_ - size_ < more) grow(std::max(size_ + more, capacity_ + capacity_ / 2));
    return data_ + size_;
  }
  // Sets the end of the written ids.
  void set_end(const std::uint32_t* end) { size_ = static_cast<std::size_t>(end - data_); }
  void push(std::uint32_t id) {
    *room(1) = id;
    ++size_;
  }
  void clear() { size_ = 0; }

  // Transfers the ids to the caller, who calls std::free; unused memory is returned.
  std::uint32_t* release() {
    if (void* smaller = std::realloc(data_, std::max<std::size_t>(size_, 1) * sizeof *data_)) {
      data_ = static_cast<std::uint32_t*>(smaller);
    }
    size_ = capacity_ = 0;
    return std::exchange(data_, nullptr);
  }

 private:
  void grow(std::size_t capacity) {
    if (capacity > static_cast<std::size_t>(-1) / 2 / sizeof *data_) throw std::bad_alloc();
    void* data = std::realloc(data_, capacity * sizeof *data_);
    if (data == nullptr) throw std::bad_alloc();
    data_ = static_cast<std::uint32_t*>(data);
    capacity_ = capacity;
  }

  std::uint32_t* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace hf_bpe
