// The tokens that training starts with: bytes, or the results of initial merges.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "merge/vocabulary.hpp"

namespace hf_bpe {

// The bytes of the symbols 0 to 255 of a training: in the order of the printable characters of vocab.json, as
// tokenizers.trainers.BpeTrainer numbers them.
const Byte (&bytes_of_symbols())[256];

class FirstTokens {
 public:
  using Merges = std::vector<std::pair<std::string, std::string>>;

  // Symbols from 256 on are the other tokens of the merges, in the order of their first occurrence as a part or result.
  // `by_value`: the symbols 0 to 255 are the bytes of these values, as an alphabet of characters needs them.
  // Throws std::invalid_argument if a merge is given twice, or there are 2**21 tokens or more.
  explicit FirstTokens(const Merges& merges, bool by_value = false);
  FirstTokens(const FirstTokens&) = delete;
  FirstTokens& operator=(const FirstTokens&) = delete;

  // The bytes of each symbol.
  const std::vector<std::string>& bytes() const { return bytes_; }

  Symbol symbol_of(Byte byte) const { return symbol_of_[byte]; }

  // The merges, whose symbols are ours, except those of bytes; nullptr if there are none.
  const Vocabulary* vocabulary() const { return vocabulary_ ? &*vocabulary_ : nullptr; }

 private:
  Symbol symbol_of_[256];  // of bytes
  std::vector<std::string> bytes_;
  std::optional<Vocabulary> vocabulary_;
};

}  // namespace hf_bpe
