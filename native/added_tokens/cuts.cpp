#include "added_tokens/cuts.hpp"

#include <algorithm>

#include "scan/characters.hpp"

namespace hf_bpe {

bool CutRules::allow_cut_of_segment(const Byte* at, bool is_token) const {
  // The rest of a segment may not be changed, as by a space before it.
  if (!is_token && segments.change_segment(*at)) return false;
  const CharacterCuts* const characters = pattern.characters();
  if (characters == nullptr || characters->rules().prefix == PrefixSpace::kNever) return true;
  // That it is a rest, and does not follow a token, shows the byte before it.
  return !tokens.may_end_with(at[-1]);
}

Cuts::Cuts(const Text& text, const CutRules& rules, const Byte* from, const Byte* limit)
    : begin_(text.begin),
      text_end_(text.end),
      rules_(rules),
      at_(from),
      limit_(limit),
      polls_(rules.poll),
      tokens_(rules.tokens, text.begin, from, text.end),
      seen_(from),
      next_token_(from),
      next_safe_(from) {}

const Byte* Cuts::next() {
  constexpr std::ptrdiff_t kStep = 1 << 14;
  while (at_ < limit_) {
    const bool is_unseen = at_ >= seen_;
    if (is_unseen) seen_ = at_ + std::min(limit_ - at_, kStep);
    polls_(is_unseen ? static_cast<std::size_t>(seen_ - at_) : 1);
    if (is_unseen || next_token_ < at_) {
      next_token_ = rules_.segments.split_special_tokens ? seen_ : tokens_.find_of_first_round(at_, seen_);
    }
    if (is_unseen || next_safe_ < at_) {
      const CharacterCuts* const characters = rules_.pattern.characters();
      next_safe_ = characters != nullptr ? characters->find_cut(begin_, at_, next_token_, text_end_)
                                         : find_safe_cut(rules_.pattern, begin_, at_, next_token_);
    }
    at_ = next_safe_;
    if (at_ == seen_) continue;
    const Byte* cut = at_++;
    if (rules_.allow_cut_of_segment(cut, cut == next_token_) && tokens_.allows_cut(cut)) return cut;
  }
  return nullptr;
}

bool allows_cut(const Pattern& pattern, const Byte* begin, const Byte* at, const Byte* end) {
  const CharacterCuts* const characters = pattern.characters();
  if (characters != nullptr) return characters->find_cut(begin, at, at + 1, end) == at;
  return find_safe_cut(pattern, begin, at, at + 1) == at;
}

CutCheck::CutCheck(const Text& text, const CutRules& rules, const Byte* from)
    : text_(text), rules_(rules), tokens_(rules.tokens, text.begin, from, text.end) {}

bool CutCheck::operator()(const Byte* at) {
  const bool is_token = !rules_.segments.split_special_tokens && tokens_.find_of_first_round(at, at + 1) == at;
  if (!is_token && !hf_bpe::allows_cut(rules_.pattern, text_.begin, at, text_.end)) return false;
  return rules_.allow_cut_of_segment(at, is_token) && tokens_.allows_cut(at);
}

std::size_t find_last_cut(const Text& text, const CutRules& rules) {
  // A token, or a character of up to 4 bytes, that begins before the end may continue after it.
  const auto unsure = static_cast<std::ptrdiff_t>(bytes_that_decide(rules.tokens));
  if (text.end - text.begin <= unsure) return 0;
  const Byte* const limit = text.end - unsure;
  for (std::ptrdiff_t width = std::max<std::ptrdiff_t>(1 << 12, unsure);; width *= 4) {
    const Byte* from = limit - text.begin > width ? limit - width : text.begin + 1;
    const Byte* last = nullptr;
    Cuts cuts(text, rules, from, limit);
    while (const Byte* cut = cuts.next()) last = cut;
    if (last != nullptr) return static_cast<std::size_t>(last - text.begin);
    if (from == text.begin + 1) return 0;
  }
}

Part part_of(const Text& text, const Chunk& chunk, const CutRules& rules) {
  const Byte* begin = text.begin + chunk.begin;
  const Byte* end = text.begin + chunk.end;
  if (chunk.begin != 0) begin = Cuts(text, rules, begin, end).next();
  if (begin == nullptr) return {text.begin, text.begin};
  if (end != text.end) end = Cuts(text, rules, end, text.end).next();
  return {begin, end == nullptr ? text.end : end};
}

}  // namespace hf_bpe
