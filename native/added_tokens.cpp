#include "added_tokens.hpp"

#include <string_view>
#include <unordered_map>

namespace hf_bpe {
namespace {

std::vector<std::string> contents_of(const std::vector<AddedToken>& tokens, bool normalized) {
  std::vector<std::string> contents;
  for (const AddedToken& token : tokens) {
    if (token.normalized == normalized) contents.push_back(token.content);
  }
  return contents;
}

}  // namespace

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens)
    : not_normalized_(tokens, false), normalized_(tokens, true) {}

AddedTokens::Round::Round(const std::vector<AddedToken>& all, bool normalized)
    : finder(contents_of(all, normalized)) {
  std::unordered_map<std::string_view, const AddedToken*> last;  // of equal contents, of this round or the other
  for (const AddedToken& token : all) last[token.content] = &token;
  for (const AddedToken& token : all) {
    if (token.normalized != normalized) continue;
    const AddedToken& taken = *last[token.content];
    tokens.push_back({taken.id, taken.special, taken.lstrip, taken.rstrip, taken.single_word});
  }
}

bool AddedTokens::Round::allows_cut(const Byte* begin, const Byte* at, const Byte* end) const {
  bool is_allowed = true;
  finder.visit_all_around(begin, at, end, [&](const Byte* from, const Byte* to, std::uint32_t index) {
    // No token may look across the cut.
    const Token& token = tokens[index];
    const bool looks_across = (from < at && at < to) || token.single_word || (to == at && token.rstrip) ||
                              (from == at && token.lstrip);
    is_allowed &= !looks_across;
  });
  return is_allowed;
}

bool AddedTokens::is_in_word(const Byte* begin, const TokenFinder::Found& found, const Byte* end) {
  if (found.end < end && is_of_word(found.end, character_at(found.end, end))) return true;
  if (found.begin == begin) return false;
  const Character before = character_before(begin, found.begin);
  return is_of_word(found.begin - before.length, before);
}

const Byte* AddedTokens::skip_white_space(const Byte* at, const Byte* end) {
  while (at < end) {
    const Character character = character_at(at, end);
    if (!is_white_space(character)) break;
    at += character.length;
  }
  return at;
}

const Byte* AddedTokens::skip_white_space_before(const Byte* begin, const Byte* at) {
  while (at > begin) {
    const Character character = character_before(begin, at);
    if (!is_white_space(character)) break;
    at -= character.length;
  }
  return at;
}

}  // namespace hf_bpe
