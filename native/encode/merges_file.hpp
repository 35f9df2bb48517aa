// Parsing of GPT-2's merges.txt and vocabulary: tokens in printable form.
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
  std::vector<bool> is_used;                         // by token: whether a merge has or makes it
};

// Reads lines of two printable tokens separated by a space, with or without a header. None if there is anything else, a
// merge with unknown tokens, or a repeated merge; then the caller reports the error.
std::optional<MergesFile> read_merges(std::string_view text, const std::vector<std::string_view>& tokens);

}  // namespace hf_bpe
