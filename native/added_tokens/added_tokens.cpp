#include "added_tokens/added_tokens.hpp"

#include <algorithm>
#include <numeric>
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

std::vector<AddedToken> plain_tokens(const std::vector<std::string>& contents) {
  std::vector<AddedToken> tokens;
  for (const std::string& content : contents) tokens.push_back({content, 0});
  return tokens;
}

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens, std::size_t patience, bool keeps_spaces)
    : not_normalized_(tokens, false, patience, false), normalized_(tokens, true, patience, keeps_spaces) {
  for (const AddedToken& token : tokens) {
    if (!token.content.empty()) last_bytes_.set(static_cast<Byte>(token.content.back()));
  }
}

AddedTokens::Round::Round(const std::vector<AddedToken>& all, bool normalized, std::size_t patience, bool keeps_spaces)
    : finder(contents_of(all, normalized), patience), keeps_spaces(keeps_spaces) {
  std::unordered_map<std::string_view, const AddedToken*> last;  // for equal contents, in this round or the other
  for (const AddedToken& token : all) last[token.content] = &token;
  for (const AddedToken& token : all) {
    if (token.normalized != normalized) continue;
    const AddedToken& taken = *last[token.content];
    tokens.push_back({taken.id, taken.special, taken.lstrip, taken.rstrip, taken.single_word, false});
  }
  std::vector<std::uint32_t> order(tokens.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return finder.size(a) < finder.size(b); });
  for (const std::uint32_t index : order) {
    Token& token = tokens[index];
    const std::uint32_t prefix = finder.longest_prefix(index);
    token.looks_left = token.lstrip || token.single_word || (prefix != TokenFinder::kNone && tokens[prefix].looks_left);
  }
}

AddedTokens::Walk::OfRound::OfRound(const Round& round, const Byte* begin, const Byte* from, const Byte* end)
    : round(round),
      end(end),
      seen(from - std::min(round.finder.longest(), static_cast<std::size_t>(from - begin))),
      search(round.finder, seen, end),
      forbidden(begin) {}

bool AddedTokens::Walk::OfRound::allows_cut(const Byte* at) {
  advance(at);
  if (at <= forbidden) return false;
  if (at < seen || at == end) return true;
  const TokenFinder::Found found = search.find(at, at + 1);
  return found.begin != at || !round.tokens[found.index].looks_left;
}

void AddedTokens::Walk::OfRound::advance(const Byte* at) {
  while (seen < at) {
    const TokenFinder::Found found = search.find(seen, at);
    seen = found.begin;
    if (seen == at) break;
    // Of the tokens that begin here the longest forbids all that the others forbid, because they end before it.
    const Token& token = round.tokens[found.index];
    forbidden = std::max(forbidden, token.rstrip || token.single_word ? found.end : found.end - 1);
    ++seen;
  }
}

const Byte* AddedTokens::Walk::OfRound::find(const Byte* from, const Byte* limit) {
  advance(from);
  if (seen < limit) seen = search.find(seen, limit).begin;
  return std::min(seen, limit);
}

const Byte* AddedTokens::Walk::find_of_first_round(const Byte* from, const Byte* limit) {
  return (not_normalized_.round.finder.longest() > 0 ? not_normalized_ : normalized_).find(from, limit);
}

bool AddedTokens::is_in_word(const Byte* begin, const TokenFinder::Found& found, const Byte* end) {
  if (found.end < end && is_of_word(found.end, character_at(found.end, end))) return true;
  if (found.begin == begin) return false;
  const Character before = character_before(begin, found.begin);
  return is_of_word(found.begin - before.length, before);
}

const Byte* AddedTokens::skip_white_space(const Byte* at, const Byte* end, bool keeps_spaces) {
  while (at < end) {
    const Character character = character_at(at, end);
    if (!is_white_space(character) || (keeps_spaces && *at == ' ')) break;
    at += character.length;
  }
  return at;
}

const Byte* AddedTokens::skip_white_space_before(const Byte* begin, const Byte* at, bool keeps_spaces) {
  while (at > begin) {
    const Character character = character_before(begin, at);
    if (!is_white_space(character) || (keeps_spaces && at[-1] == ' ')) break;
    at -= character.length;
  }
  return at;
}

}  // namespace hf_bpe
