// Splits text at special and added tokens, by the rules of hf_bpe/added_tokens.py.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "token_finder.hpp"

namespace hf_bpe {

struct AddedToken {
  std::string content;  // valid UTF-8; an empty one is never found
  std::uint32_t id;
  bool special = false, normalized = false, lstrip = false, rstrip = false, single_word = false;
};

class AddedTokens {
 public:
  // Of tokens with equal contents the last is taken.
  explicit AddedTokens(const std::vector<AddedToken>& tokens);

  // Calls `text(begin, end)` for each stretch of ordinary text, none of them empty, and `token(id, begin, end)` for
  // each added token with the white space it has eaten, in order. With `split_special_tokens` special tokens are left in the text; other added tokens are found.
  template <class OnText, class OnToken>
  void split(const Byte* begin, const Byte* end, bool split_special_tokens, OnText text, OnToken token) const {
    const auto split_again = [&](const Byte* from, const Byte* to) {
      normalized_.split(from, to, split_special_tokens, text, token);
    };
    not_normalized_.split(begin, end, split_special_tokens, split_again, token);
  }

  // Whether the text from `begin` on may be cut at `at`, which is between two characters, of which the first is no white
  // space, or where a token begins: what both parts are split into is then, one after the other, what the whole is split into, but for a stretch
  // of text that is cut, too. The text must be readable up to `end`, its end or `longest()` bytes behind `at`.
  bool allows_cut(const Byte* begin, const Byte* at, const Byte* end) const {
    return not_normalized_.allows_cut(begin, at, end) && normalized_.allows_cut(begin, at, end);
  }

  // The first token from `from` on, whether `split` gives it or not, of those that are looked for first: one that is
  // looked for later is none if these take a part of it.
  TokenFinder::Found find_of_first_round(const Byte* from, const Byte* end) const {
    return (not_normalized_.finder.longest() > 0 ? not_normalized_ : normalized_).finder.find(from, end);
  }

  // The size of the longest token, 0 if there is none.
  std::size_t longest() const { return std::max(not_normalized_.finder.longest(), normalized_.finder.longest()); }

 private:
  struct Token {
    std::uint32_t id;
    bool special, lstrip, rstrip, single_word;
  };

  // Tokens that are looked for together: first those that are not normalized, then in what is left of the text those
  // that are.
  struct Round {
    TokenFinder finder;
    std::vector<Token> tokens;

    Round(const std::vector<AddedToken>& all, bool normalized);
    bool allows_cut(const Byte* begin, const Byte* at, const Byte* end) const;

    template <class OnText, class OnToken>
    void split(const Byte* begin, const Byte* end, bool split_special_tokens, OnText&& text, OnToken&& token) const {
      const Byte* done = begin;
      for (const Byte* from = begin;;) {
        TokenFinder::Found found = finder.find(from, end);
        if (found.begin == end) break;
        from = found.end;  // also if it is passed over
        const Token& each = tokens[found.index];
        if (each.special && split_special_tokens) continue;
        if (each.single_word && is_in_word(begin, found, end)) continue;
        // What rstrip of the token before has eaten may be eaten or found again, as in hf_bpe/added_tokens.py. So
        // `found.begin` may be before `done`, and `found.end`, too.
        if (each.lstrip) found.begin = std::max(skip_white_space_before(done, found.begin), done);
        if (each.rstrip) found.end = skip_white_space(found.end, end);
        if (done < found.begin) text(done, found.begin);
        if (found.begin < found.end) token(each.id, found.begin, found.end);
        done = found.end;
      }
      if (done < end) text(done, end);
    }
  };

  static bool is_in_word(const Byte* begin, const TokenFinder::Found& found, const Byte* end);
  static const Byte* skip_white_space(const Byte* at, const Byte* end);
  static const Byte* skip_white_space_before(const Byte* begin, const Byte* at);

  Round not_normalized_, normalized_;
};

}  // namespace hf_bpe
