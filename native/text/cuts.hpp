// Where texts may be cut, so that the parts give, one after the other, what the whole gives.
#pragma once

#include <algorithm>
#include <cstddef>

#include "encode/added_tokens.hpp"
#include "text/chunks.hpp"
#include "support/poll.hpp"
#include "text/scanner.hpp"

namespace hf_bpe {

// What decides where texts may be cut: where the pattern allows it, or one of the tokens begins that the text is split at
// first; and where the tokens do not forbid it.
struct CutRules {
  Pattern pattern;
  const AddedTokens& tokens;
  bool split_special_tokens = false;  // a special token that is taken for text does not end the stretch before it
  bool add_prefix_space = false;      // no space may be put before what is only the rest of a stretch
  const PollFunction& poll = kNoPoll;
};

// A walk over the places where a text may be cut, from left to right. Its time is linear in how far it goes.
class Cuts {
 public:
  // Those from `from` on, which is after the beginning of the text, and before `limit`.
  Cuts(const Text& text, const CutRules& rules, const Byte* from, const Byte* limit);

  // The next place; nullptr if there is none.
  const Byte* next();

  std::size_t work() const { return tokens_.work(); }  // that of finding the tokens

 private:
  const Byte* const begin_;
  const CutRules& rules_;
  const Byte* at_;
  const Byte* const limit_;
  PollInLoop polls_;
  AddedTokens::Walk tokens_;
  // No look goes far beyond the cut that it finds: up to `seen_` these are known, or `seen_` if there is none.
  const Byte* seen_;
  const Byte* next_token_;
  const Byte* next_safe_;  // by the pattern, or the next token if that is before
};

// The last place where a text can be cut whatever follows it, 0 if there is none.
std::size_t find_last_cut(const Text& text, const CutRules& rules);

struct Part {
  const Byte* begin;
  const Byte* end;
};

// What a chunk of part of a text really stands for, from one safe cut to another. If there is none in it, it is empty and
// belongs to the one before.
Part part_of(const Text& text, const Chunk& chunk, const CutRules& rules);

// How many bytes chunks should have at least, for what has to be read around each of them to be no more than that.
inline std::size_t least_chunk(std::size_t wanted, const AddedTokens& tokens) { return std::max(wanted, tokens.longest()); }

}  // namespace hf_bpe
