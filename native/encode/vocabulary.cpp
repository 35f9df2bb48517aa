#include "encode/vocabulary.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

#include "train/token_index.hpp"

namespace hf_bpe {

std::vector<Vocabulary::Merge> Vocabulary::find_tokens(
    const Tokens& tokens, const std::vector<std::pair<std::string_view, std::string_view>>& merges) {
  std::vector<std::string_view> texts;
  texts.reserve(tokens.size());
  for (const auto& [id, token] : tokens) texts.push_back(token);
  const TokenIndex places(texts);
  const auto place_of = [&](std::string_view token) {
    const std::uint32_t place = places.find(token);
    if (place == TokenIndex::kNone) throw std::invalid_argument("a merge of what is not in the vocabulary");
    return place;
  };
  std::vector<Merge> found;
  found.reserve(merges.size());
  std::string made;
  for (const auto& [first, second] : merges) {
    made.assign(first).append(second);
    found.push_back({place_of(first), place_of(second), place_of(made)});
  }
  return found;
}

Vocabulary::Vocabulary(const Tokens& tokens, const std::vector<Merge>& merges, const Tokens& whole_words,
                       bool drops_missing_bytes)
    : ranks_(merges.size()), ranks_of_bytes_(1 << 16, kNoMerge), ids_(256), drops_missing_bytes_(drops_missing_bytes) {
  std::vector<Symbol> symbols;  // of each token
  symbols.reserve(tokens.size());
  for (Symbol byte = 0; byte < 256; ++byte) ids_[byte] = kMissing | byte;
  for (const auto& [id, token] : tokens) {
    if (id >= kMissing) throw std::invalid_argument("ids from 2**31 on are not supported");
    const bool is_byte = token.size() == 1;
    const Symbol symbol = is_byte ? static_cast<Byte>(token[0]) : kNoSymbol;
    if (is_byte) ids_[symbol] = id;
    symbols.push_back(symbol);
  }

  const auto symbol_of = [&](std::uint32_t place) {
    Symbol& symbol = symbols[place];
    if (symbol == kNoSymbol) {
      symbol = static_cast<Symbol>(ids_.size());
      ids_.push_back(tokens[place].first);
      symbol_bytes_ += tokens[place].second.size();
    }
    return symbol;
  };
  if (merges.size() >= kNoMerge) throw std::invalid_argument("more than 2**22 merges are not supported");
  results_.reserve(merges.size());
  merges_.reserve(merges.size());
  for (const auto& [first, second, result] : merges) {
    if (std::max({first, second, result}) >= tokens.size()) throw std::invalid_argument("a merge of no token");
    const std::string_view made = tokens[result].second, head = tokens[first].second;
    if (!made.starts_with(head) || made.substr(head.size()) != tokens[second].second) {
      throw std::invalid_argument("a merge that does not make its result");
    }
    const auto rank = static_cast<Rank>(results_.size());
    const Symbol left = symbol_of(first), right = symbol_of(second);
    // Later symbols have no place in the table.
    if (ids_.size() >= kNoSymbol) throw std::invalid_argument("more than 2**21 tokens are not supported");
    if (ranks_.insert_new(left, right, rank) != kNoMerge) throw std::invalid_argument("a merge is given twice");
    merges_.emplace_back(left, right);
    results_.push_back(symbol_of(result));
    if (left < 256 && right < 256) ranks_of_bytes_[right << 8 | left] = rank;
  }
  if (ids_.size() >= kNoSymbol) throw std::invalid_argument("more than 2**21 tokens are not supported");
  small_ranks_ = SmallRanks::make(merges_, ids_.size());
  if (!small_ranks_) compact_ranks_.emplace(merges_);
  bool is_in_order = true;
  for (Rank rank = 0; rank < results_.size(); ++rank) is_in_order &= results_[rank] == rank + 256;
  if (is_in_order) results_.clear();
  for (const std::uint32_t id : ids_) highest_id_ = std::max(highest_id_, id);
  lacks_bytes_ = highest_id_ >= kMissing;
  if (!whole_words.empty()) add_whole_words(whole_words);
}

void Vocabulary::add_whole_words(const Tokens& words) {
  whole_words_.emplace(static_cast<unsigned>(std::bit_width(words.size() * 2 | 8)));  // large enough never to grow
  for (const auto& [id, token] : words) {
    if (id >= kMissing) throw std::invalid_argument("ids from 2**31 on are not supported");
    if (token.empty()) throw std::invalid_argument("an empty token is no word");
    const auto* word = reinterpret_cast<const Byte*>(token.data());
    const auto key = whole_words_->key_of(word, token.size());
    const std::size_t slot = whole_words_->find_slot(key, whole_words_->slot_of(key), word, token.size());
    if (!(*whole_words_)[slot].is_empty()) throw std::invalid_argument("a word is given twice");
    whole_words_->insert(key, slot, word, token.size(), id);
    longest_whole_word_ = std::max(longest_whole_word_, token.size());
    highest_id_ = std::max(highest_id_, id);
  }
}

std::uint32_t Vocabulary::find_whole_word(const Byte* word, std::size_t length) const {
  const auto key = whole_words_->key_of(word, length);
  const std::size_t slot = whole_words_->find_slot(key, whole_words_->slot_of(key), word, length);
  const auto& entry = (*whole_words_)[slot];
  return entry.is_empty() ? kMissing : entry.value;
}

}  // namespace hf_bpe
