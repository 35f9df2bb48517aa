// The merges of a model, over symbols: numbers of bytes and of what merges make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rank_table.hpp"
#include "token_array.hpp"
#include "unicode.hpp"

namespace hf_bpe {

using Rank = std::uint32_t;  // of a merge: the lowest is merged first

class Vocabulary {
 public:
  static constexpr Rank kNoMerge = RankTable::kNone;
  static constexpr Symbol kNoSymbol = (Symbol{1} << RankTable::kSymbolBits) - 1;  // that nothing merges with
  // What stands for the id of a byte that the model has no token for, with the byte in its last bits. Ids are lower.
  static constexpr std::uint32_t kMissing = std::uint32_t{1} << 31;

  // Of tokens and their ids, and of merges, whose parts and results must be tokens. Throws std::invalid_argument if they
  // are not, or where an id is too high.
  Vocabulary(const std::vector<std::pair<std::uint32_t, std::string_view>>& tokens,
             const std::vector<std::pair<std::string_view, std::string_view>>& merges);

  // Symbols below 256 are bytes.
  std::size_t symbols() const { return ids_.size(); }
  std::uint32_t id(Symbol symbol) const { return ids_[symbol]; }
  bool lacks_bytes() const { return lacks_bytes_; }
  std::uint32_t highest_id() const { return highest_id_; }  // of symbols; kMissing or more if a byte is missing

  // The rank of the merge of two symbols, kNoMerge if there is none; and what it makes.
  Rank rank(Symbol first, Symbol second) const { return ranks_.find(first, second); }
  Rank rank_of_bytes(Symbol first, Symbol second) const { return ranks_of_bytes_[first << 8 | second]; }
  Symbol result(Rank rank) const { return results_.empty() ? rank + 256 : results_[rank]; }
  const std::vector<std::pair<Symbol, Symbol>>& merges() const { return merges_; }  // by rank

 private:
  RankTable ranks_;
  std::vector<std::pair<Symbol, Symbol>> merges_;
  std::vector<Rank> ranks_of_bytes_;   // of all pairs of bytes
  std::vector<Symbol> results_;        // by rank; none if no two merges make the same: then symbols are in their order
  std::vector<std::uint32_t> ids_;     // by symbol
  std::uint32_t highest_id_ = 0;
  bool lacks_bytes_ = false;
};

}  // namespace hf_bpe
