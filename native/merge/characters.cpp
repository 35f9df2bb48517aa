#include "merge/characters.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "text/unicode.hpp"

namespace hf_bpe {

CharacterVocabulary::CharacterVocabulary(const Vocabulary::Tokens& tokens, const std::vector<Vocabulary::Merge>& merges,
                                         const std::vector<std::uint32_t>& byte_ids,
                                         const std::vector<std::uint32_t>& excluded)
    : first_part_id_(0) {
  if (!byte_ids.empty() && byte_ids.size() != 256) throw std::invalid_argument("byte_ids: expected 256 or none");
  std::unordered_set<std::uint32_t> no_text(excluded.begin(), excluded.end());
  no_text.insert(byte_ids.begin(), byte_ids.end());
  constexpr std::uint32_t kNone = 0xFFFFFFFF;
  std::vector<std::uint32_t> places;  // of the given tokens among ours
  std::unordered_map<std::string_view, std::uint32_t> place_of;
  places.reserve(tokens.size());
  tokens_.reserve(tokens.size());
  bool is_known[256] = {};
  for (const auto& [id, text] : tokens) {
    first_part_id_ = std::max(first_part_id_, id + 1);
    if (no_text.contains(id)) {
      places.push_back(kNone);
      continue;
    }
    places.push_back(static_cast<std::uint32_t>(tokens_.size()));
    if (text.size() <= 4) place_of.emplace(text, places.back());
    if (text.size() == 1) is_known[static_cast<Byte>(text[0])] = true;
    tokens_.emplace_back(id, text);
  }
  const std::size_t whole = tokens_.size();
  const auto add_part = [&](std::string bytes, std::uint32_t id) {
    const std::string_view kept = parts_.emplace_back(std::move(bytes));
    place_of.emplace(kept, static_cast<std::uint32_t>(tokens_.size()));
    tokens_.emplace_back(id, kept);
  };
  std::uint32_t next_id = first_part_id_;
  for (int byte = 0; byte < 256; ++byte) {
    if (is_known[byte]) continue;
    if (!byte_ids.empty() && byte_ids[byte] == kNoByte) throw std::invalid_argument("byte_ids: a byte has no token");
    add_part(std::string(1, static_cast<char>(byte)), byte_ids.empty() ? next_id++ : byte_ids[byte]);
  }
  for (std::size_t place = 0; place < whole; ++place) {
    const std::string_view text = tokens_[place].second;
    const auto* begin = reinterpret_cast<const Byte*>(text.data());
    if (text.size() > 4 || character_at(begin, begin + text.size()).length != text.size()) continue;
    characters_.push_back(static_cast<std::uint32_t>(place));
    if (text.size() == 1) continue;
    std::uint32_t first = place_of.at(text.substr(0, 1));
    for (std::size_t length = 2; length <= text.size(); ++length) {
      const std::string_view made = text.substr(0, length);
      const bool is_new = !place_of.contains(made);
      if (is_new) add_part(std::string(made), next_id++);
      const std::uint32_t result = place_of.at(made);
      if (is_new || length == text.size()) merges_.push_back({first, place_of.at(text.substr(length - 1, 1)), result});
      first = result;
    }
  }
  merges_of_bytes_ = merges_.size();
  merges_.reserve(merges_.size() + merges.size());
  for (const auto& [first, second, result] : merges) {
    if (std::max({first, second, result}) >= places.size()) throw std::invalid_argument("a merge of no token");
    if (places[first] == kNone || places[second] == kNone || places[result] == kNone) continue;
    merges_.push_back({places[first], places[second], places[result]});
  }
}

Vocabulary CharacterVocabulary::vocabulary() const {
  Vocabulary vocabulary(tokens_, merges_, {}, false, first_part_id_);
  vocabulary.begin_with(characters());
  return vocabulary;
}

std::vector<std::string_view> CharacterVocabulary::characters() const {
  std::vector<std::string_view> texts;
  for (const std::uint32_t place : characters_) texts.push_back(tokens_[place].second);
  return texts;
}

std::vector<std::string_view> CharacterVocabulary::made() const {
  std::vector<std::string_view> texts;
  for (std::size_t i = merges_of_bytes_; i < merges_.size(); ++i) texts.push_back(tokens_[merges_[i].result].second);
  return texts;
}

}  // namespace hf_bpe
