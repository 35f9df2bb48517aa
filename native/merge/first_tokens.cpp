#include "merge/first_tokens.hpp"

#include <string_view>

namespace hf_bpe {

const Byte (&bytes_of_symbols())[256] {
  struct Bytes {
    Byte of[256];
  };
  static const Bytes bytes = [] {
    // Printable ones stand for themselves in vocab.json; the others follow, as the characters from U+0100 on.
    const auto is_printable = [](int byte) {
      return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    };
    Bytes sorted{};
    std::size_t next = 0;
    for (const bool printable : {true, false}) {
      for (int byte = 0; byte < 256; ++byte) {
        if (is_printable(byte) == printable) sorted.of[next++] = static_cast<Byte>(byte);
      }
    }
    return sorted;
  }();
  return bytes.of;
}

FirstTokens::FirstTokens(const Merges& merges, bool by_value) {
  for (unsigned symbol = 0; symbol < 256; ++symbol) {
    const Byte byte = by_value ? static_cast<Byte>(symbol) : bytes_of_symbols()[symbol];
    symbol_of_[byte] = static_cast<Symbol>(bytes_.size());
    bytes_.emplace_back(1, static_cast<char>(byte));
  }
  if (merges.empty()) return;

  std::vector<std::string> made;
  made.reserve(merges.size());
  std::vector<std::pair<std::uint32_t, std::string_view>> tokens;  // some occur several times: the first counts
  std::vector<std::pair<std::string_view, std::string_view>> views;
  const auto add = [&](std::string_view token) {
    tokens.emplace_back(static_cast<std::uint32_t>(tokens.size()), token);
  };
  for (const auto& [first, second] : merges) {
    add(first);
    add(second);
    add(made.emplace_back(first + second));
    views.emplace_back(first, second);
  }
  vocabulary_.emplace(tokens, Vocabulary::find_tokens(tokens, views));
  bytes_.reserve(vocabulary_->symbols());
  for (Symbol symbol = 256; symbol < vocabulary_->symbols(); ++symbol) {
    bytes_.emplace_back(tokens[vocabulary_->id(symbol)].second);
  }
}

}  // namespace hf_bpe
