// Special and other added tokens in text, by the rules of `tokenizers`, as hf_bpe/added_tokens.py has them: first those
// that are not normalized are found, then the others in the text between; flags are looked at only then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "token_finder.hpp"
#include "unicode.hpp"

namespace hf_bpe {

struct AddedToken {
  std::string content;
  std::uint32_t id;
  bool special = false;
  bool normalized = false;
  bool lstrip = false, rstrip = false;  // takes the white space beside it
  bool single_word = false;             // is none inside a word
};

class AddedTokens {
 public:
  explicit AddedTokens(std::vector<AddedToken> tokens = {});

  // Calls `on_text(begin, end)` for each stretch of text, of which none is empty, and `on_token(id)` for each token.
  template <class OnText, class OnToken>
  void split(const Byte* begin, const Byte* end, bool split_special_tokens, OnText on_text, OnToken on_token) const {
    const auto in_second_round = [&](const Byte* from, const Byte* to) {
      split_once(rounds_[1], from, to, split_special_tokens, on_text, on_token);
    };
    if (rounds_[1].finder.longest() == 0) {
      split_once(rounds_[0], begin, end, split_special_tokens, on_text, on_token);
    } else {
      split_once(rounds_[0], begin, end, split_special_tokens, in_second_round, on_token);
    }
  }

  // The first token from `from` on, whatever its flags.
  TokenFinder::Found find(const Byte* from, const Byte* end) const { return all_.find(from, end); }
  std::size_t longest() const { return all_.longest(); }

  // Whether text may be cut at `at`, with white space not on its left, for its parts to be split as the whole: there is no
  // token across, nor does one touch the place that takes white space or looks beside itself.
  bool allows_cut(const Byte* begin, const Byte* at, const Byte* end) const;

 private:
  struct Round {
    std::vector<AddedToken> tokens;
    TokenFinder finder;
  };

  template <class OnText, class OnToken>
  static void split_once(const Round& round, const Byte* begin, const Byte* end, bool split_special_tokens,
                         OnText on_text, OnToken on_token) {
    const Byte* done = begin;
    for (const Byte* from = begin;;) {
      auto [start, stop, index] = round.finder.find(from, end);
      if (start == end) break;
      from = stop;
      const AddedToken& token = round.tokens[index];
      if ((split_special_tokens && token.special) || (token.single_word && is_in_word(begin, start, stop, end))) continue;
      if (token.lstrip) start = std::max(skip_space_back(done, start), done);
      if (token.rstrip) stop = skip_space(stop, end);
      if (done < start) on_text(done, start);
      if (start < stop) on_token(token.id);
      done = stop;
    }
    if (done < end) on_text(done, end);
  }

  static bool is_in_word(const Byte* begin, const Byte* start, const Byte* stop, const Byte* end);
  static const Byte* skip_space(const Byte* at, const Byte* end);
  static const Byte* skip_space_back(const Byte* begin, const Byte* at);

  Round rounds_[2];
  TokenFinder all_, flagged_;
};

}  // namespace hf_bpe
