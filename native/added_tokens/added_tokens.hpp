// Splits text at special and added tokens, by the rules of hf_bpe/encoding/_added_tokens/rules.py.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "added_tokens/token_finder.hpp"

namespace hf_bpe {

struct AddedToken {
  std::string content;  // valid UTF-8; an empty one is never found
  std::uint32_t id;
  bool special = false, normalized = false, lstrip = false, rstrip = false, single_word = false;
};

// Tokens without flags, all with id 0.
std::vector<AddedToken> plain_tokens(const std::vector<std::string>& contents);

class AddedTokens {
 public:
  // Of tokens with equal contents the last is used. `patience`: see TokenFinder. `keeps_spaces`: whether tokens
  // with normalized=True strip no spaces, because they are searched where these are written as another character.
  explicit AddedTokens(const std::vector<AddedToken>& tokens, std::size_t patience = TokenFinder::kPatience,
                       bool keeps_spaces = false);

  // Calls, in order, `text(begin, end)` for each non-empty segment of ordinary text, and `token(id, begin, end)` for
  // each added token with the white space that it strips. With `split_special_tokens` special tokens are treated as
  // text; other added tokens are still found.
  template <class OnText, class OnToken>
  void split(const Byte* begin, const Byte* end, bool split_special_tokens, OnText text, OnToken token) const {
    const auto split_again = [&](const Byte* from, const Byte* to) {
      normalized_.split(from, to, split_special_tokens, text, token);
    };
    not_normalized_.split(begin, end, split_special_tokens, split_again, token);
  }

  // Whether a token ends with a byte.
  bool may_end_with(Byte byte) const { return last_bytes_[byte]; }

  // The size of the longest token, 0 if there is none.
  std::size_t longest() const { return std::max(not_normalized_.finder.longest(), normalized_.finder.longest()); }

 private:
  struct Token {
    std::uint32_t id;
    bool special, lstrip, rstrip, single_word;
    bool looks_left;  // this token, or one that it begins with, depends on the preceding text
  };

  // Tokens that are found in one round: first those with normalized=False, then the others in the remaining text.
  struct Round {
    TokenFinder finder;
    std::vector<Token> tokens;
    bool keeps_spaces;

    Round(const std::vector<AddedToken>& all, bool normalized, std::size_t patience, bool keeps_spaces);

    template <class OnText, class OnToken>
    void split(const Byte* begin, const Byte* end, bool split_special_tokens, OnText&& text, OnToken&& token) const {
      TokenFinder::Search search(finder, begin, end);
      const Byte* done = begin;
      const Byte* after_white_space = begin;  // the end of the white space that rstrip stripped last
      for (const Byte* from = begin;;) {
        TokenFinder::Found found = search.find(from);
        if (found.begin == end) break;
        from = found.end;  // also if it is skipped
        const Token& each = tokens[found.index];
        if (each.special && split_special_tokens) continue;
        if (each.single_word && is_in_word(begin, found, end)) continue;
        // White space that rstrip of the preceding token stripped may be stripped or matched again, as in
        // hf_bpe/encoding/_added_tokens/rules.py. So `found.begin` and `found.end` may be before `done`.
        if (each.lstrip) found.begin = std::max(skip_white_space_before(done, found.begin, keeps_spaces), done);
        if (each.rstrip) {
          if (after_white_space <= found.end) after_white_space = skip_white_space(found.end, end, keeps_spaces);
          found.end = after_white_space;
        }
        if (done < found.begin) text(done, found.begin);
        if (found.begin < found.end) token(each.id, found.begin, found.end);
        done = found.end;
      }
      if (done < end) text(done, end);
    }
  };

  static bool is_in_word(const Byte* begin, const TokenFinder::Found& found, const Byte* end);
  static const Byte* skip_white_space(const Byte* at, const Byte* end, bool keeps_spaces);
  static const Byte* skip_white_space_before(const Byte* begin, const Byte* at, bool keeps_spaces);

  Round not_normalized_, normalized_;
  std::bitset<256> last_bytes_;

 public:
  // A walk through a text, from left to right, that decides where it may be cut.
  class Walk {
   public:
    // The text from `begin` to `end`; only positions at or after `from`, which is after `begin`, will be queried.
    Walk(const AddedTokens& tokens, const Byte* begin, const Byte* from, const Byte* end)
        : not_normalized_(tokens.not_normalized_, begin, from, end),
          normalized_(tokens.normalized_, begin, from, end) {}

    // Whether the text may be cut at `at`, a position between two characters, of which the first is not white space, or
    // at the beginning of a token: the parts are then split like the whole, except for a segment of text that is cut,
    // too. In one walk `at` must never decrease.
    bool allows_cut(const Byte* at) { return not_normalized_.allows_cut(at) && normalized_.allows_cut(at); }

    // The beginning of the first token of the first round at or after `from` and before `limit`, whether `split`
    // reports it or not (tokens of the second round are not found if these take part of them); `limit` if there is
    // none. In one walk `from` must be after the last `at`, and never decrease.
    const Byte* find_of_first_round(const Byte* from, const Byte* limit);

    std::size_t work() const { return not_normalized_.search.work() + normalized_.search.work(); }

   private:
    struct OfRound {
      const Round& round;
      const Byte* const end;
      const Byte* seen;  // the end of the searched range
      TokenFinder::Search search;
      const Byte* forbidden;  // the last position at which earlier tokens forbid a cut

      OfRound(const Round& round, const Byte* begin, const Byte* from, const Byte* end);
      bool allows_cut(const Byte* at);
      void advance(const Byte* at);
      const Byte* find(const Byte* from, const Byte* limit);
    };
    OfRound not_normalized_, normalized_;
  };
};

}  // namespace hf_bpe
