// A position in JSON text, which moves over regular values. It is strict about what it reads, and only finds the ends
// of what it skips: the caller has a complete parser check that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hf_bpe {

// Each method returns false where the text is irregular; then the position is of no more use.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text) : text_(text) {}

  // Where the cursor is; white space before the next value may follow.
  std::size_t position() const { return at_; }

  // Skips white space, and then a character if it is the next one.
  bool take(char character) {
    skip_white_space();
    if (at_ == text_.size() || text_[at_] != character) return false;
    ++at_;
    return true;
  }

  // Whether a character comes next.
  bool is_next(char character) {
    skip_white_space();
    return at_ < text_.size() && text_[at_] == character;
  }

  // Whether nothing but white space follows.
  bool is_end() {
    skip_white_space();
    return at_ == text_.size();
  }

  // A string in UTF-8, which is not checked: a part of the text, or of `room` if it has escapes.
  bool read_string(std::string_view& string, std::string& room);

  // A number of 32 bits without sign, fraction and exponent.
  bool read_number(std::uint32_t& number);

  // A value of any kind; no recursion.
  bool skip_value();

 private:
  void skip_white_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
  }
  bool read_escape(std::string& room);
  bool read_unit(std::uint32_t& unit);  // four hex digits

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace hf_bpe
