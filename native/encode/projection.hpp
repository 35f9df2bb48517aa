// Replaces each id by a list of ids, such as those of a smaller vocabulary for a token of a larger one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace hf_bpe {

// Where the list of an id is among all values, and its length; 0 for an id that has none.
struct ProjectedToken {
  std::uint32_t begin, size;
};

// Numbers that are appended, in memory that NumPy can own.
template <class T>
class ProjectedIds {
 public:
  // Room for `more` numbers after the last, which `end` points to.
  void reserve(std::size_t more) {
    if (size_ + more <= room_) return;
    const std::size_t room = std::max(size_ + more, room_ + room_ / 2);
    T* data = static_cast<T*>(std::realloc(data_.get(), room * sizeof(T)));
    if (data == nullptr) throw std::bad_alloc();
    (void)data_.release();  // realloc has freed or kept it
    data_.reset(data);
    room_ = room;
  }
  T* end() { return data_.get() + size_; }
  void grow_to(T* end) { size_ = static_cast<std::size_t>(end - data_.get()); }
  std::size_t size() const { return size_; }
  T* release() {
    reserve(1);
    return data_.release();
  }

 private:
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0, room_ = 0;
};

// Calls `poll` after each block. The ids may change meanwhile: each is read once. Throws std::out_of_range for an id
// without a list. `values` has kCopied numbers after the last list.
class Projection {
 public:
  static constexpr std::size_t kCopied = 4;

  template <class In, class Out, class Poll>
  static void append(const In* ids, std::size_t size, const std::vector<std::int64_t>& ends,
                     const std::vector<ProjectedToken>& tokens, const Out* values, ProjectedIds<Out>& out,
                     std::vector<std::int64_t>& new_ends, Poll poll) {
    std::vector<In> block(std::min(size, kBlock));
    auto end = ends.begin();
    // A row may end before the first id.
    for (; end != ends.end() && *end == 0; ++end) new_ends.push_back(static_cast<std::int64_t>(out.size()));
    for (std::size_t start = 0; start < size; start += kBlock) {
      const std::size_t length = std::min(kBlock, size - start);
      std::memcpy(block.data(), ids + start, length * sizeof(In));
      out.reserve(projected_size(block.data(), length, tokens) + kCopied);
      Out* to = out.end();
      for (std::size_t at = 0; at < length;) {
        std::size_t stop = length;
        if (end != ends.end()) stop = std::min(stop, static_cast<std::size_t>(*end) - start);
        to = append_row(block.data() + at, block.data() + stop, tokens.data(), values, to);
        out.grow_to(to);
        at = stop;
        for (; end != ends.end() && static_cast<std::size_t>(*end) == start + at; ++end) {
          new_ends.push_back(static_cast<std::int64_t>(out.size()));
        }
      }
      poll();
    }
  }

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 14;

  template <class In>
  static std::size_t projected_size(const In* ids, std::size_t size, const std::vector<ProjectedToken>& tokens) {
    std::size_t total = 0;
    for (std::size_t i = 0; i < size; ++i) {
      if (ids[i] >= tokens.size() || tokens[ids[i]].size == 0) throw std::out_of_range(std::to_string(ids[i]));
      total += tokens[ids[i]].size;
    }
    return total;
  }

  template <class In, class Out>
  static Out* append_row(const In* begin, const In* end, const ProjectedToken* tokens, const Out* values, Out* to) {
    for (; begin != end; ++begin) {
      const ProjectedToken token = tokens[*begin];
      // A fixed number, which takes one load and one store; what is too much is overwritten.
      std::memcpy(to, values + token.begin, kCopied * sizeof(Out));
      if (token.size > kCopied) [[unlikely]]
        std::memcpy(to, values + token.begin, token.size * sizeof(Out));
      to += token.size;
    }
    return to;
  }
};

}  // namespace hf_bpe
