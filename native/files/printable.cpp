#include "files/printable.hpp"

#include <array>
#include <cstddef>

namespace hf_bpe {
namespace {

constexpr std::size_t kCharacters = 0x144;  // characters of bytes are below

struct Tables {
  std::array<std::int16_t, kCharacters> bytes;  // by character, -1 if it stands for none
  std::array<std::uint16_t, 256> characters;    // by byte
};

// The rule of hf_bpe/pretokenizers/_byte_level.py.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::int16_t& byte : tables.bytes) byte = -1;
  std::uint16_t next = 0x100;
  for (std::uint16_t byte = 0; byte < 256; ++byte) {
    const bool is_printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
    tables.characters[byte] = is_printable ? byte : next++;
    tables.bytes[tables.characters[byte]] = static_cast<std::int16_t>(byte);
  }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

int byte_of(std::uint32_t character) { return character < kCharacters ? kTables.bytes[character] : -1; }

std::uint32_t character_of(std::uint8_t byte) { return kTables.characters[byte]; }

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

}  // namespace hf_bpe
