// The UTF-8 of a text of wider units, some bytes at a time: what is compared only is not written to memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "text/chunks.hpp"
#include "text/transcoding.hpp"

namespace hf_bpe {

// The end of a text in UTF-8, with the memory that it may need.
struct Utf8Tail {
  std::unique_ptr<Byte[]> memory;
  Text text{};
  std::size_t skipped = 0;  // the bytes of the text before it

  std::size_t size() const { return skipped + static_cast<std::size_t>(text.end - text.begin); }  // of the whole text
};

class Utf8Reader {
 public:
  Utf8Reader(const Text& text, Simd simd) : text_(text), transcode_(transcode_for(simd)), units_(text.begin) {}

  // The next `most` bytes, or those until the end of the text; valid until the next call.
  std::span<const Byte> next(std::size_t most) {
    if (text_.width == 0) {
      return {units_, std::min(most, static_cast<std::size_t>(text_.end - units_))};
    }
    if (end_ - begin_ < most && units_ != text_.end) read(most);
    return {buffer_.data() + begin_, std::min(most, end_ - begin_)};
  }

  // Goes on after this many of the next bytes.
  void skip(std::size_t bytes) {
    at_ += bytes;
    if (text_.width == 0) {
      units_ += bytes;
    } else {
      begin_ += bytes;
    }
  }

  // As many bytes as are left, or more.
  std::size_t max_left() const {
    const auto left = static_cast<std::size_t>(text_.end - units_);
    return text_.width == 0 ? left : end_ - begin_ + left / text_.width * utf8_bytes(text_.width);
  }

  // The units from a character on that begins at `byte`, which has been read, or before.
  const Byte* unit_before(std::size_t byte) const { return anchor_before(byte).unit; }

  // The text from a character on that begins at `byte`, which has been read, or before.
  Utf8Tail tail(std::size_t byte) const {
    Utf8Tail tail;
    tail.text = text_;
    if (text_.width == 0) return tail;
    const Anchor from = anchor_before(byte);
    const auto units = static_cast<std::size_t>(text_.end - from.unit) / text_.width;
    tail.skipped = from.byte;
    tail.memory.reset(new Byte[units * utf8_bytes(text_.width) + kTranscodingSlack]);
    tail.text = {tail.memory.get(), transcode_(from.unit, text_.end, text_.width, tail.memory.get())};
    return tail;
  }

 private:
  struct Anchor {
    const Byte* unit;
    std::size_t byte;  // at which its character begins
  };

  // Of text in UTF-8, which is no longer than its units, every byte is one.
  Anchor anchor_before(std::size_t byte) const {
    if (text_.width == 0) return {text_.begin + byte, byte};
    if (anchors_.empty()) return {text_.begin, 0};
    const auto after = std::partition_point(anchors_.begin() + 1, anchors_.end(),
                                            [&](const Anchor& anchor) { return anchor.byte <= byte; });
    return *std::prev(after);
  }

  void read(std::size_t most) {
    const std::size_t kept = end_ - begin_, width = text_.width;
    const std::size_t room = most + (most + 1) * utf8_bytes(text_.width) + kTranscodingSlack;
    if (buffer_.size() < room) buffer_.resize(room);
    std::memmove(buffer_.data(), buffer_.data() + begin_, kept);
    // A unit has one byte or more, so these are enough.
    const std::size_t left = static_cast<std::size_t>(text_.end - units_) / width;
    const Byte* stop = units_ + width * std::min(most - kept, left);
    if (stop != text_.end && is_pair(stop - width)) stop += width;
    anchors_.push_back({units_, at_ + kept});
    begin_ = 0;
    end_ = static_cast<std::size_t>(transcode_(units_, stop, text_.width, buffer_.data() + kept) - buffer_.data());
    units_ = stop;
  }

  // Whether two units are surrogates that become one character.
  bool is_pair(const Byte* at) const {
    if (text_.width == 1) return false;
    const auto code = [&](const Byte* unit) -> std::uint32_t {
      if (text_.width == 2) return *reinterpret_cast<const std::uint16_t*>(unit);
      return *reinterpret_cast<const std::uint32_t*>(unit);
    };
    const std::uint32_t first = code(at), second = code(at + text_.width);
    return first >= 0xD800 && first < 0xDC00 && second >= 0xDC00 && second < 0xE000;
  }

  const Text text_;
  const Transcode transcode_;
  const Byte* units_;         // after the units that were read
  std::size_t at_ = 0;        // the bytes before the next one
  std::vector<Byte> buffer_;  // from begin_ to end_ the next bytes
  std::size_t begin_ = 0, end_ = 0;
  std::vector<Anchor> anchors_;  // where reading began
};

}  // namespace hf_bpe
