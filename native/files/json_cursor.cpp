#include "files/json_cursor.hpp"

namespace hf_bpe {
namespace {

void append_utf8(std::uint32_t character, std::string& room) {
  const auto append = [&](std::uint32_t byte) { room.push_back(static_cast<char>(byte)); };
  if (character < 0x80) return append(character);
  if (character < 0x800) {
    append(0xC0 | character >> 6);
  } else {
    if (character < 0x10000) {
      append(0xE0 | character >> 12);
    } else {
      append(0xF0 | character >> 18);
      append(0x80 | (character >> 12 & 0x3F));
    }
    append(0x80 | (character >> 6 & 0x3F));
  }
  append(0x80 | (character & 0x3F));
}

}  // namespace

bool JsonCursor::read_string(std::string_view& string, std::string& room) {
  if (!take('"')) return false;
  const std::size_t begin = at_;
  for (; at_ < text_.size(); ++at_) {
    const auto byte = static_cast<unsigned char>(text_[at_]);
    if (byte == '"') {
      string = text_.substr(begin, at_++ - begin);
      return true;
    }
    if (byte < 0x20) return false;
    if (byte == '\\') break;
  }
  room.assign(text_.substr(begin, at_ - begin));
  while (at_ < text_.size()) {
    const auto byte = static_cast<unsigned char>(text_[at_++]);
    if (byte == '"') {
      string = room;
      return true;
    }
    if (byte < 0x20) return false;
    if (byte != '\\') {
      room.push_back(static_cast<char>(byte));
    } else if (!read_escape(room)) {
      return false;
    }
  }
  return false;
}

bool JsonCursor::read_escape(std::string& room) {
  constexpr std::string_view kEscapes = "\"\\/bfnrt", kCharacters = "\"\\/\b\f\n\r\t";
  if (at_ == text_.size()) return false;
  const char escape = text_[at_++];
  if (const std::size_t place = kEscapes.find(escape); place != std::string_view::npos) {
    room.push_back(kCharacters[place]);
    return true;
  }
  std::uint32_t character;
  if (escape != 'u' || !read_unit(character)) return false;
  if (character >= 0xD800 && character < 0xE000) {  // half of a surrogate pair; a lone one is irregular
    std::uint32_t low;
    if (character >= 0xDC00 || text_.substr(at_, 2) != "\\u") return false;
    at_ += 2;
    if (!read_unit(low) || low < 0xDC00 || low >= 0xE000) return false;
    character = 0x10000 + ((character & 0x3FF) << 10 | (low & 0x3FF));
  }
  append_utf8(character, room);
  return true;
}

bool JsonCursor::read_unit(std::uint32_t& unit) {
  if (text_.size() - at_ < 4) return false;
  unit = 0;
  for (const std::size_t end = at_ + 4; at_ < end; ++at_) {
    const char digit = text_[at_];
    if (digit >= '0' && digit <= '9') {
      unit = unit << 4 | static_cast<std::uint32_t>(digit - '0');
    } else if ((digit >= 'a' && digit <= 'f') || (digit >= 'A' && digit <= 'F')) {
      unit = unit << 4 | static_cast<std::uint32_t>((digit | 0x20) - 'a' + 10);
    } else {
      return false;
    }
  }
  return true;
}

bool JsonCursor::read_number(std::uint32_t& number) {
  skip_white_space();
  const std::size_t begin = at_;
  std::uint64_t value = 0;
  for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
    value = value * 10 + static_cast<std::uint64_t>(text_[at_] - '0');
    if (value > 0xFFFFFFFF) return false;
  }
  if (at_ == begin || (text_[begin] == '0' && at_ - begin > 1)) return false;
  number = static_cast<std::uint32_t>(value);
  return true;
}

bool JsonCursor::skip_value() {
  std::size_t depth = 0;
  do {
    skip_white_space();
    if (at_ == text_.size()) return false;
    const char character = text_[at_];
    if (character == '"') {
      for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
        if (text_[at_] == '\\') ++at_;
      }
      if (at_ >= text_.size()) return false;
      ++at_;
    } else if (character == '{' || character == '[') {
      ++depth;
      ++at_;
    } else if (character == '}' || character == ']') {
      if (depth == 0) return false;
      --depth;
      ++at_;
    } else if (character == ',' || character == ':') {
      if (depth == 0) return false;
      ++at_;
    } else {  // a number or a name
      constexpr std::string_view kEnds = " \n\t\r,:{}[]\"";
      while (at_ < text_.size() && kEnds.find(text_[at_]) == std::string_view::npos) ++at_;
    }
  } while (depth > 0);
  return true;
}

}  // namespace hf_bpe
