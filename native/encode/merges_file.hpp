// The text of GPT-2's merges.txt, and of its vocabulary: tokens written in printable characters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace hf_bpe {

// The byte that a printable character stands for, -1 if it stands for none.
int byte_of(std::uint32_t character);

struct MergesFile {
  std::vector<std::array<std::uint32_t, 2>> merges;  // numbers of tokens
  std::vector<bool> is_used;                         // by token: whether it is of a merge, or made by one
};

// Reads lines of UTF-8, of two printable tokens and a space between, below a header or not. None if there is anything
// else, or a merge that is not of three of the tokens, or one that stands there twice: somebody else says what is wrong.
std::optional<MergesFile> read_merges(std::string_view text, const std::vector<std::string_view>& tokens);

}  // namespace hf_bpe
