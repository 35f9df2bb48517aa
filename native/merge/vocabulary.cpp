#include "merge/vocabulary.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

#include "tables/token_index.hpp"

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
  std::vector<Merge> placed;
  placed.reserve(merges.size());
  std::string made;
  for (const auto& [first, second] : merges) {
    made.assign(first).append(second);
    placed.push_back({place_of(first), place_of(second), place_of(made)});
  }
  return placed;
}

Vocabulary::Vocabulary(const Tokens& tokens, const std::vector<Merge>& merges, const Tokens& whole_words,
                       bool drops_missing_bytes, std::uint32_t first_part_id)
    : ids_(256), first_part_id_(first_part_id), drops_missing_bytes_(drops_missing_bytes) {
  std::vector<Symbol> symbols;  // of each token
  symbols.reserve(tokens.size());
  for (Symbol byte = 0; byte < 256; ++byte) ids_[byte] = kMissing | byte;
  for (const auto& [id, token] : tokens) {
    if (id >= kMissing) throw std::invalid_argument("ids from 2**31 on are not supported");
    const bool is_byte = token.size() == 1;
    const Symbol symbol = is_byte ? static_cast<Byte>(token[0]) : kNoSymbol;
    if (is_byte) ids_[symbol] = id;
    if (id >= first_part_id) {
      if (id - first_part_id >= parts_.size()) parts_.resize(id - first_part_id + 1);
      parts_[id - first_part_id] = token;
    }
    symbols.push_back(symbol);
  }

  if (merges.size() >= kNoMerge) throw std::invalid_argument("more than 2**22 merges are not supported");
  constexpr Symbol kUsed = kNoSymbol - 1;
  bool is_in_order = true;  // whether each merge makes another token of those before
  for (const auto& [first, second, result] : merges) {
    if (std::max({first, second, result}) >= tokens.size()) throw std::invalid_argument("a merge of no token");
    is_in_order &= symbols[first] != kNoSymbol && symbols[second] != kNoSymbol && symbols[result] == kNoSymbol;
    for (const std::uint32_t place : {first, second, result}) {
      if (symbols[place] == kNoSymbol) symbols[place] = kUsed;
    }
  }
  std::vector<std::string_view> joined;
  joined.reserve(tokens.size() + whole_words.size());
  const auto number = [&](std::uint32_t place) {
    if (symbols[place] != kUsed) return;
    joined.push_back(tokens[place].second);
    symbols[place] = static_cast<Symbol>(ids_.size());
    ids_.push_back(tokens[place].first);
    symbol_bytes_ += tokens[place].second.size();
  };
  if (is_in_order) {
    for (const Merge& merge : merges) number(merge.result);
  } else {  // that of tokens is mostly that of ids
    for (std::uint32_t place = 0; place < tokens.size(); ++place) number(place);
  }
  if (ids_.size() >= kUsed) throw std::invalid_argument("more than 2**21 tokens are not supported");
  results_.reserve(merges.size());
  merges_.reserve(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    // The tokens of a merge may be anywhere in memory.
    constexpr std::size_t kAhead = 8;
    if (i + 2 * kAhead < merges.size()) {
      for (const std::uint32_t place : {merges[i + 2 * kAhead].first, merges[i + 2 * kAhead].second}) {
        if (place < tokens.size()) prefetch(&tokens[place]);
      }
      for (const std::uint32_t place : {merges[i + kAhead].first, merges[i + kAhead].second}) {
        if (place < tokens.size()) prefetch(tokens[place].second.data());
      }
    }
    const auto [first, second, result] = merges[i];
    const std::string_view made = tokens[result].second, head = tokens[first].second;
    if (!made.starts_with(head) || made.substr(head.size()) != tokens[second].second) {
      throw std::invalid_argument("a merge that does not make its result");
    }
    merges_.emplace_back(symbols[first], symbols[second]);
    results_.push_back(symbols[result]);
  }
  small_ranks_ = SmallRanks::make(merges_, ids_.size());
  if (!small_ranks_) compact_ranks_.emplace(merges_, results_);
  if (is_in_order) results_.clear();
  last_with_id_ = static_cast<Symbol>(ids_.size() - 1);
  while (last_with_id_ > 0 && ids_[last_with_id_] == ids_[last_with_id_ - 1] + 1) --last_with_id_;
  for (const std::uint32_t id : ids_) highest_id_ = std::max(highest_id_, id);
  lacks_bytes_ = highest_id_ >= kMissing || std::any_of(ids_.begin(), ids_.begin() + 256, [&](std::uint32_t id) {
                   return id >= first_part_id_;  // a byte that is given as missing
                 });
  if (lacks_bytes_) highest_id_ = std::max(highest_id_, kMissing);
  if (!whole_words.empty()) add_whole_words(whole_words);
  for (const auto& [id, word] : whole_words) joined.push_back(word);
  if (first_part_id == kMissing) joins_ = Joins(joined);  // or text is cut before
}

void Vocabulary::begin_with(const std::vector<std::string_view>& characters) {
  characters_.emplace();
  for (const std::string_view each : characters) {
    const auto* const begin = reinterpret_cast<const Byte*>(each.data());
    const Byte* const end = begin + each.size();
    Symbol symbol = *begin;
    for (const Byte* byte = begin + 1; byte < end; ++byte) symbol = result(rank(symbol, *byte));
    characters_->add(begin, end, symbol);
  }
}

std::size_t Vocabulary::expand_parts(std::uint32_t* ids, std::size_t size) const {
  std::vector<std::uint32_t> expanded;
  for (std::size_t i = 0; i < size; ++i) {
    if (ids[i] < first_part_id_ || ids[i] >= kMissing) {
      expanded.push_back(ids[i]);
      continue;
    }
    for (const char each : parts_[ids[i] - first_part_id_]) {
      const auto byte = static_cast<Byte>(each);
      expanded.push_back(ids_[byte] < first_part_id_ ? ids_[byte] : kMissing | byte);
    }
  }
  std::copy(expanded.begin(), expanded.end(), ids);
  return expanded.size();
}

void Vocabulary::add_whole_words(const Tokens& words) {
  whole_words_.emplace(static_cast<unsigned>(std::bit_width(words.size() * 2 | 8)));  // large enough never to grow
  constexpr std::size_t kAhead = 16;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& [id, token] = words[i];
    if (i + kAhead < words.size()) {
      const std::string_view next = words[i + kAhead].second;
      const auto next_key = whole_words_->key_of(reinterpret_cast<const Byte*>(next.data()), next.size());
      whole_words_->prefetch(whole_words_->slot_of(next_key));
    }
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
