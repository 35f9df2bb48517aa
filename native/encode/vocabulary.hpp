// The merges of a model, over symbols: numbers of bytes and of what merges make. And the words that need no merging.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encode/packed_table.hpp"
#include "train/token_array.hpp"
#include "text/unicode.hpp"
#include "count/word_table.hpp"

namespace hf_bpe {

using Rank = std::uint32_t;  // of a merge: the lowest is merged first

class Vocabulary {
 public:
  static constexpr Rank kNoMerge = RankTable::kNone;
  static constexpr Symbol kNoSymbol = (Symbol{1} << RankTable::kFirstBits) - 1;  // that nothing merges with
  // What stands for the id of a byte that the model has no token for, with the byte in its last bits. Ids are lower.
  static constexpr std::uint32_t kMissing = std::uint32_t{1} << 31;

  using Tokens = std::vector<std::pair<std::uint32_t, std::string_view>>;

  // Of tokens and their ids; of merges, whose parts and results must be tokens; and of the tokens that words become as a
  // whole, whatever merges make of them, each once. Throws std::invalid_argument if that is not so, or where an id is too
  // high. `drops_missing_bytes`: whether words are merged as if bytes without a token were not there.
  Vocabulary(const Tokens& tokens, const std::vector<std::pair<std::string_view, std::string_view>>& merges,
             const Tokens& whole_words = {}, bool drops_missing_bytes = false);

  // Symbols below 256 are bytes.
  std::size_t symbols() const { return ids_.size(); }
  std::size_t symbol_bytes() const { return symbol_bytes_; }  // of all symbols
  std::uint32_t id(Symbol symbol) const { return ids_[symbol]; }
  bool lacks_bytes() const { return lacks_bytes_; }
  bool drops_missing_bytes() const { return drops_missing_bytes_; }
  std::uint32_t highest_id() const { return highest_id_; }  // that words have; kMissing or more if a byte is missing

  // The id of a word that is a token as a whole; kMissing if it has to be merged.
  std::uint32_t whole_word(const Byte* word, std::size_t length) const {
    return length <= longest_whole_word_ ? find_whole_word(word, length) : kMissing;
  }

  // The rank of the merge of two symbols, kNoMerge if there is none; and what it makes.
  Rank rank(Symbol first, Symbol second) const { return ranks_.find(first, second); }
  Rank rank_of_bytes(Symbol first, Symbol second) const { return ranks_of_bytes_[first << 8 | second]; }
  Symbol result(Rank rank) const { return results_.empty() ? rank + 256 : results_[rank]; }
  const std::vector<std::pair<Symbol, Symbol>>& merges() const { return merges_; }  // by rank

 private:
  using WholeWords = WordTable<std::uint32_t, 1>;

  void add_whole_words(const Tokens& words);
  std::uint32_t find_whole_word(const Byte* word, std::size_t length) const;

  RankTable ranks_;
  std::vector<std::pair<Symbol, Symbol>> merges_;
  std::vector<Rank> ranks_of_bytes_;   // of all pairs of bytes
  std::vector<Symbol> results_;        // by rank; none if no two merges make the same: then symbols are in their order
  std::vector<std::uint32_t> ids_;     // by symbol
  std::size_t symbol_bytes_ = 256;
  std::optional<WholeWords> whole_words_;
  std::size_t longest_whole_word_ = 0;  // in bytes; 0 if there are none
  std::uint32_t highest_id_ = 0;
  bool lacks_bytes_ = false;
  bool drops_missing_bytes_;
};

}  // namespace hf_bpe
