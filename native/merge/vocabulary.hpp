// The merges of a model over symbols, which number bytes and results of merges; and the whole words that need no
// merging.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "merge/interleaved.hpp"
#include "merge/joins.hpp"
#include "tables/character_symbols.hpp"
#include "tables/small_ranks.hpp"
#include "tables/symbols.hpp"
#include "tables/word_table.hpp"
#include "text/unicode.hpp"

namespace hf_bpe {

using Rank = std::uint32_t;  // the rank of a merge: the lowest is merged first

class Vocabulary {
 public:
  static constexpr Rank kNoMerge = CompactRanks::kNone;
  static constexpr Symbol kNoSymbol = (Symbol{1} << CompactRanks::kFirstBits) - 1;  // merges with nothing
  // The placeholder id of a byte without a token, with the byte in its last bits. Real ids are lower.
  static constexpr std::uint32_t kMissing = std::uint32_t{1} << 31;

  using Tokens = std::vector<std::pair<std::uint32_t, std::string_view>>;

  // A merge, as the places of both parts and of the result in a list of tokens.
  struct Merge {
    std::uint32_t first, second, result;
  };

  // Takes tokens and their ids; merges, whose parts and results must be tokens; and the distinct tokens that match
  // whole words before merging. Throws std::invalid_argument if these are inconsistent or an id is too high.
  // `drops_missing_bytes`: whether bytes without a token are dropped before merging. Tokens with ids from
  // `first_part_id` on are no tokens of the model: instead of one the ids of its bytes are given, see `expand`.
  Vocabulary(const Tokens& tokens, const std::vector<Merge>& merges, const Tokens& whole_words = {},
             bool drops_missing_bytes = false, std::uint32_t first_part_id = kMissing);

  // For a model whose alphabet is characters: those that merges of bytes make, in UTF-8. Words begin with their
  // symbols.
  void begin_with(const std::vector<std::string_view>& characters);
  bool is_of_characters() const { return characters_.has_value(); }

  // Finds the tokens of merges that are given as bytes. Throws std::invalid_argument if there is no such token.
  static std::vector<Merge> find_tokens(const Tokens& tokens,
                                        const std::vector<std::pair<std::string_view, std::string_view>>& merges);

  // Symbols below 256 are bytes.
  std::size_t symbols() const { return ids_.size(); }
  std::size_t symbol_bytes() const { return symbol_bytes_; }  // total size of all symbols
  std::uint32_t id(Symbol symbol) const { return ids_[symbol]; }
  bool lacks_bytes() const { return lacks_bytes_; }
  bool drops_missing_bytes() const { return drops_missing_bytes_; }
  // Replaces the parts among the ids of a word by those of their bytes, in place, and returns the number of ids.
  std::size_t expand(std::uint32_t* ids, std::size_t size) const {
    if (parts_.empty()) return size;
    for (std::size_t i = 0; i < size; ++i) {
      if (ids[i] >= first_part_id_ && ids[i] < kMissing) return expand_parts(ids, size);
    }
    return size;
  }

  std::uint32_t highest_id() const { return highest_id_; }  // of words; kMissing or more if a byte has no token

  bool has_whole_words() const { return longest_whole_word_ != 0; }
  // The id of a word that is a token; kMissing if it has to be merged. The table does not fit the nearest caches.
  std::uint32_t whole_word(const Byte* word, std::size_t length) const {
    return length <= longest_whole_word_ ? find_whole_word(word, length) : kMissing;
  }

  void prefetch_whole_word(const Byte* word, std::size_t length) const {
    if (length <= longest_whole_word_)
      whole_words_->prefetch(whole_words_->slot_of(whole_words_->key_of(word, length)));
  }

  const Joins& joins() const { return joins_; }  // of the tokens of merges, and of whole words

  // The rank of the merge of two symbols, kNoMerge if there is none; and the result of a merge.
  Rank rank(Symbol first, Symbol second) const {
    if (!small_ranks_) return compact_ranks_->find_exact(first, second);
    return rank_of_small(small_ranks_->find(small_ranks_->key_of(first, second)));
  }
  Rank rank_of_bytes(const Byte* pair) const {
    return small_ranks_ ? rank_of_small(small_ranks_->rank_of_bytes(pair)) : compact_ranks_->rank_of_bytes(pair);
  }
  Symbol result(Rank rank) const { return results_.empty() ? rank + 256 : results_[rank]; }
  const std::vector<std::pair<Symbol, Symbol>>& merges() const { return merges_; }  // by rank
  // The tables of the same, valid while the vocabulary is neither moved nor destroyed.
  MergeTables merge_tables() const {
    return {small_ranks_ ? &*small_ranks_ : nullptr,
            compact_ranks_ ? &*compact_ranks_ : nullptr,
            results_.empty() ? nullptr : results_.data(),
            ids_.data(),
            last_with_id_,
            characters_ ? &*characters_ : nullptr};
  }

 private:
  using WholeWords = WordTable<std::uint32_t, 1>;

  static Rank rank_of_small(std::uint32_t rank) { return rank == SmallRanks::kNone ? kNoMerge : rank; }

  void add_whole_words(const Tokens& words);
  std::size_t expand_parts(std::uint32_t* ids, std::size_t size) const;
  std::uint32_t find_whole_word(const Byte* word, std::size_t length) const;

  std::optional<SmallRanks> small_ranks_;
  std::optional<CompactRanks> compact_ranks_;  // of a model without small ones
  std::vector<std::pair<Symbol, Symbol>> merges_;
  std::vector<Symbol> results_;     // by rank; empty if no two merges make the same: then symbols are in rank order
  std::vector<std::uint32_t> ids_;  // by symbol
  Symbol last_with_id_;             // as in MergeTables
  std::size_t symbol_bytes_ = 256;
  Joins joins_;
  std::optional<CharacterSymbols> characters_;
  std::optional<WholeWords> whole_words_;
  std::size_t longest_whole_word_ = 0;  // in bytes; 0 if there are none
  std::uint32_t highest_id_ = 0;
  std::uint32_t first_part_id_;
  std::vector<std::string> parts_;  // by id, from the first
  bool lacks_bytes_ = false;
  bool drops_missing_bytes_;
};

}  // namespace hf_bpe
