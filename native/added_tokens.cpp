#include "added_tokens.hpp"

#include <iterator>
#include <utility>

namespace hf_bpe {
namespace {

std::vector<std::string> contents(const std::vector<AddedToken>& tokens) {
  std::vector<std::string> all;
  for (const AddedToken& token : tokens) all.push_back(token.content);
  return all;
}

// Where the character that ends at `at` begins; `begin < at`.
const Byte* character_before(const Byte* begin, const Byte* at) {
  for (const Byte* start = at - 1; start >= begin && at - start <= 4; --start) {
    if (!is_continuation(*start)) {
      if (start + character_at(start, at).length == at) return start;
      break;
    }
  }
  return at - 1;  // of no valid sequence
}

bool is_space_at(const Byte* at, const Byte* end) {
  const Class type = character_at(at, end).type;
  return type == Class::kSpace || type == Class::kNewline;
}

bool is_word_at(const Byte* at, const Byte* end) {
  const std::uint32_t code = code_at(at, end);
  const auto* range = std::lower_bound(std::begin(kWordRanges), std::end(kWordRanges), code,
                                       [](const auto& range, std::uint32_t code) { return range[1] < code; });
  return range != std::end(kWordRanges) && (*range)[0] <= code;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) {
  all_ = TokenFinder(contents(tokens));
  for (AddedToken& token : tokens) rounds_[token.normalized].tokens.push_back(std::move(token));
  std::vector<std::string> flagged;
  for (Round& round : rounds_) {
    round.finder = TokenFinder(contents(round.tokens));
    for (const AddedToken& token : round.tokens) {
      if (token.lstrip || token.rstrip || token.single_word) flagged.push_back(token.content);
    }
  }
  flagged_ = TokenFinder(flagged);
}

bool AddedTokens::allows_cut(const Byte* begin, const Byte* at, const Byte* end) const {
  return all_.allows_cut(begin, at, end) && !flagged_.is_touching(begin, at, end);
}

bool AddedTokens::is_in_word(const Byte* begin, const Byte* start, const Byte* stop, const Byte* end) {
  return (start > begin && is_word_at(character_before(begin, start), start)) || (stop < end && is_word_at(stop, end));
}

const Byte* AddedTokens::skip_space(const Byte* at, const Byte* end) {
  while (at < end && is_space_at(at, end)) at += character_at(at, end).length;
  return at;
}

const Byte* AddedTokens::skip_space_back(const Byte* begin, const Byte* at) {
  while (at > begin) {
    const Byte* before = character_before(begin, at);
    if (!is_space_at(before, at)) break;
    at = before;
  }
  return at;
}

}  // namespace hf_bpe
