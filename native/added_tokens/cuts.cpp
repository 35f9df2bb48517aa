#include "added_tokens/cuts.hpp"

#include <algorithm>

#include "scan/characters.hpp"

namespace hf_bpe {

Cuts::Cuts(const Text& text, const CutRules& rules, const Byte* from, const Byte* limit)
    : begin_(text.begin),
      text_end_(text.end),
      rules_(rules),
      puts_spaces_(rules.pattern.characters() != nullptr &&
                   rules.pattern.characters()->rules().prefix != PrefixSpace::kNever),
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
      next_token_ = rules_.split_special_tokens ? seen_ : tokens_.find_of_first_round(at_, seen_);
    }
    if (is_unseen || next_safe_ < at_) {
      const CharacterCuts* const characters = rules_.pattern.characters();
      next_safe_ = characters != nullptr ? characters->find_cut(begin_, at_, next_token_, text_end_)
                                         : find_safe_cut(rules_.pattern, begin_, at_, next_token_);
    }
    at_ = next_safe_;
    if (at_ == seen_) continue;
    const Byte* cut = at_++;
    if (rules_.add_prefix_space && *cut != ' ' && cut != next_token_) continue;
    // The rest of a segment gets no space. That it is a rest, and does not follow a token, shows the byte before it.
    if (puts_spaces_ && rules_.tokens.may_end_with(cut[-1])) continue;
    if (tokens_.allows_cut(cut)) return cut;
  }
  return nullptr;
}

std::size_t find_last_cut(const Text& text, const CutRules& rules) {
  // A token, or a character of up to 4 bytes, that begins before the end may continue after it.
  const auto unsure = static_cast<std::ptrdiff_t>(std::max<std::size_t>(rules.tokens.longest(), 4));
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
