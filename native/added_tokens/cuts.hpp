// Safe cuts: positions at which texts may be cut so that the parts give the same result as the whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "added_tokens/added_tokens.hpp"
#include "scan/scanner.hpp"
#include "support/poll.hpp"
#include "text/chunks.hpp"

namespace hf_bpe {

// What is a segment of text between added tokens, and how it is encoded: settings of a tokenizer.
struct SegmentOptions {
  bool split_special_tokens = false;  // a special token is text, and ends no segment
  bool add_prefix_space = false;      // a space is put before each segment that does not begin with one

  // Whether a segment may be encoded as other bytes than its own; and whether one that begins with a byte is.
  bool change_segments() const { return add_prefix_space; }
  bool change_segment(Byte first) const { return add_prefix_space && first != ' '; }
  // Writes the other bytes, of which there may be more at the beginning.
  void write_segment(const Byte* begin, const Byte* end, std::string& out) const {
    out.assign(1, ' ').append(begin, end);
  }
};

// The rules for safe cuts: the pattern allows a cut, or one of the tokens at which text is split begins there; and the
// tokens do not forbid it.
struct CutRules {
  Pattern pattern;
  const AddedTokens& tokens;
  SegmentOptions segments;
  const PollFunction& poll = kNoPoll;

  // Whether a segment of text may be cut at `at`; a position at which a token begins is the end of one.
  bool allow_cut_of_segment(const Byte* at, bool is_token) const;
};

// A walk over the safe cuts of a text, from left to right, in linear time.
class Cuts {
 public:
  // Safe cuts from `from`, which is after the beginning of the text, to before `limit`.
  Cuts(const Text& text, const CutRules& rules, const Byte* from, const Byte* limit);

  // The next safe cut; nullptr if there is none.
  const Byte* next();

  std::size_t work() const { return tokens_.work(); }  // the work of finding tokens

 private:
  const Byte* const begin_;
  const Byte* const text_end_;
  const CutRules& rules_;
  const Byte* at_;
  const Byte* const limit_;
  PollInLoop polls_;
  AddedTokens::Walk tokens_;
  // Searches do not go far beyond the cut that they find: up to `seen_` results are known, or `seen_` if there is none.
  const Byte* seen_;
  const Byte* next_token_;
  const Byte* next_safe_;  // by the pattern, or the next token if it is earlier
};

// Whether the pattern alone allows to cut a text at `at`, which is after its beginning and before its end.
bool allows_cut(const Pattern& pattern, const Byte* begin, const Byte* at, const Byte* end);

// Decides whether single positions are safe cuts; they must be asked for in ascending order.
class CutCheck {
 public:
  // Of a text, from `from` on, which is after its beginning.
  CutCheck(const Text& text, const CutRules& rules, const Byte* from);

  // Whether `at`, which is between two characters and before the end of the text, is a safe cut. All texts that begin
  // with the bytes before `at` and as many as `bytes_that_decide` after it have this cut.
  bool operator()(const Byte* at);

 private:
  const Text text_;
  const CutRules& rules_;
  AddedTokens::Walk tokens_;
};

// How many bytes after a position decide whether it is a safe cut: a token, or a character of up to 4 bytes.
inline std::size_t bytes_that_decide(const AddedTokens& tokens) { return std::max<std::size_t>(tokens.longest(), 4); }

// The last position at which a text can be cut whatever follows it, 0 if there is none.
std::size_t find_last_cut(const Text& text, const CutRules& rules);

struct Part {
  const Byte* begin;
  const Byte* end;
};

// The actual range of a chunk of a text, from one safe cut to another. A chunk without a safe cut is empty and belongs
// to the preceding chunk.
Part part_of(const Text& text, const Chunk& chunk, const CutRules& rules);

// The smallest useful chunk size in bytes, so that the text read around each chunk is not larger than the chunk.
inline std::size_t min_chunk(std::size_t wanted, const AddedTokens& tokens) {
  return std::max(wanted, tokens.longest());
}

}  // namespace hf_bpe
