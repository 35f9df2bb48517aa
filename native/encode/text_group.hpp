// Short texts, one after the other, whose new words are merged together: a single one has too few to be merged in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/id_buffer.hpp"
#include "text/chunks.hpp"
#include "text/transcoding.hpp"

namespace hf_bpe {

// `Worker` has the methods of WordIds for words that wait, and converts texts to UTF-8.
template <class Worker>
class TextGroup {
 public:
  // Appends to `ids`, and writes the number of ids of each text to `sizes`. With `waits` false, no text waits.
  // `puts_spaces`: whether a space may be put before each segment of text between added tokens.
  TextGroup(Worker& worker, bool waits, IdBuffer& ids, std::int64_t* sizes, bool puts_spaces = false)
      : worker_(worker), waits_(waits), puts_spaces_(puts_spaces), ids_(ids), sizes_(sizes) {
    worker_.begin_waiting();
  }

  // Calls `encode(utf8, waits)` for a text; if it waits, its words are to be encoded later.
  template <class Encode>
  void add(const Text& text, std::size_t number, Encode encode) {
    const std::size_t size = max_utf8_bytes(text);
    const std::size_t room = (puts_spaces_ ? 2 * size : size) + kSlack;  // each segment is a byte at least
    if (bytes_ + size > kMaxBytes || !ids_.has_room(room) || !worker_.may_wait(size)) finish();
    const bool waits = waits_ && size <= kMaxBytes && worker_.may_wait(size);
    if (waits) ids_.room(room);  // from now on ids do not move
    const std::size_t before = ids_.size();
    encode(worker_.utf8_of(text, bytes_, kMaxBytes), waits);
    if (!waits) {
      sizes_[number] = static_cast<std::int64_t>(ids_.size() - before);
      return;
    }
    if (waiting_.empty()) begin_ = before;
    waiting_.push_back({number, ids_.size()});
    bytes_ += size;
  }

  // Merges the words that wait. The group can take more texts afterwards.
  void finish() {
    if (waiting_.empty()) return;
    ends_.clear();
    for (const Waiting& text : waiting_) ends_.push_back(ids_.begin() + text.end);
    ids_.set_end(worker_.finish(ids_.begin() + ids_.size(), ends_));
    const std::uint32_t* begin = ids_.begin() + begin_;
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      sizes_[waiting_[i].number] = ends_[i] - begin;
      begin = ends_[i];
    }
    waiting_.clear();
    bytes_ = 0;
  }

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 14;  // of UTF-8 that waits; longer texts do not wait
  static constexpr std::size_t kSlack = 16;

  struct Waiting {
    std::size_t number, end;  // in the ids, until words are merged
  };

  static std::size_t max_utf8_bytes(const Text& text) {
    const auto bytes = static_cast<std::size_t>(text.end - text.begin);
    return text.width == 0 ? bytes : bytes / text.width * utf8_bytes(text.width);
  }

  Worker& worker_;
  const bool waits_, puts_spaces_;
  IdBuffer& ids_;
  std::int64_t* const sizes_;
  std::size_t begin_ = 0, bytes_ = 0;
  std::vector<Waiting> waiting_;
  std::vector<std::uint32_t*> ends_;
};

}  // namespace hf_bpe
