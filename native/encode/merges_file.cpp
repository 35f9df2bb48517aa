#include "encode/merges_file.hpp"

#include <algorithm>
#include <string>

#include "encode/packed_table.hpp"
#include "train/token_index.hpp"

namespace hf_bpe {
namespace {

constexpr std::size_t kCharacters = 0x144;  // characters of bytes are below

// The byte of each character, -1 if none, by the rule of hf_bpe/core/_byte_level.py.
std::array<std::int16_t, kCharacters> make_table() {
  std::array<std::int16_t, kCharacters> table;
  table.fill(-1);
  std::int16_t next = 0x100;
  for (std::int16_t byte = 0; byte < 256; ++byte) {
    const bool is_printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
    table[is_printable ? byte : next++] = byte;
  }
  return table;
}

// Appends the bytes that characters in UTF-8 stand for; returns whether all stand for one.
bool append_bytes(std::string_view printable, std::string& bytes) {
  for (std::size_t i = 0; i < printable.size(); ++i) {
    std::uint32_t character = static_cast<unsigned char>(printable[i]);
    if (character >= 0x80) {  // all non-ASCII ones have two bytes
      const bool is_of_two = character >= 0xC2 && character < 0xE0 && i + 1 < printable.size();
      if (!is_of_two || (static_cast<unsigned char>(printable[i + 1]) & 0xC0) != 0x80) return false;
      character = (character & 0x1F) << 6 | (static_cast<unsigned char>(printable[++i]) & 0x3F);
    }
    const int byte = byte_of(character);
    if (byte < 0) return false;
    bytes.push_back(static_cast<char>(byte));
  }
  return true;
}

}  // namespace

int byte_of(std::uint32_t character) {
  static const std::array<std::int16_t, kCharacters> table = make_table();
  return character < kCharacters ? table[character] : -1;
}

std::optional<MergesFile> read_merges(std::string_view text, const std::vector<std::string_view>& tokens) {
  MergesFile file;
  file.is_used.resize(tokens.size());
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  if (tokens.size() >= std::size_t{1} << RankTable::kFirstBits || lines >= RankTable::kNone) return std::nullopt;
  file.merges.reserve(lines);
  const TokenIndex numbers(tokens);
  RankTable seen(lines);

  if (text.starts_with("#version")) {
    const std::string_view header = text.substr(0, text.find('\n'));
    if (std::any_of(header.begin(), header.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) return std::nullopt;  // is it UTF-8?
    text.remove_prefix(header.size());
  }
  std::string made;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    made.clear();
    if (!append_bytes(line.substr(0, space), made)) return std::nullopt;
    const std::size_t size = made.size();
    if (!append_bytes(line.substr(space + 1), made)) return std::nullopt;  // for example a second space
    const std::string_view result = made;
    const std::uint32_t first = numbers.find(result.substr(0, size)), second = numbers.find(result.substr(size)),
                        whole = numbers.find(result);
    if (first == TokenIndex::kNone || second == TokenIndex::kNone || whole == TokenIndex::kNone) return std::nullopt;
    if (seen.find(first, second) != RankTable::kNone) return std::nullopt;
    seen.insert(first, second, 0);
    for (const std::uint32_t number : {first, second, whole}) file.is_used[number] = true;
    file.merges.push_back({first, second});
  }
  return file;
}

}  // namespace hf_bpe
