// The printable form of tokens, as in vocab.json and merges.txt: one character for each byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hf_bpe {

// The byte that a printable character stands for, -1 if it stands for none.
int byte_of(std::uint32_t character);

// The printable character of a byte, below U+0800: two bytes in UTF-8, or one.
std::uint32_t character_of(std::uint8_t byte);

// Appends the bytes that characters in UTF-8 stand for; returns whether all stand for one.
bool append_bytes(std::string_view printable, std::string& bytes);

}  // namespace hf_bpe
