// Texts shared out to threads: in chunks of several short texts, or of parts of a long one, cut where that is safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

#include "scanner.hpp"

namespace hf_bpe {

struct Text {
  const Byte* begin;
  const Byte* end;
  bool must_be_utf8 = false;
  bool is_mapped = false;  // from a file, for reading: its pages are given back once they are read
  unsigned width = 0;      // of a unit, if these are not UTF-8 but Latin-1 (1), UCS-2 (2) or UCS-4 (4)
  // Only what is from the first safe cut at `from` or behind it, to the first at `to` or behind it, is wanted.
  std::size_t from = 0, to = std::numeric_limits<std::size_t>::max();
};

struct Chunk {
  std::size_t first_text, last_text;  // last included
  std::size_t begin, end;             // where in the only text, to be moved to where a cut is safe; else their size
};

std::vector<Chunk> share_out(const std::vector<Text>& texts, std::size_t chunk_bytes);

// Calls `work(thread, chunk)` for the number of each chunk, in order, beginning with `first`, from up to `threads` threads,
// of which the calling one is number 0. Calls `poll` now and then in the calling thread with the number of bytes that are
// done. After either has thrown, or `work` has returned false, no more chunks are begun; what was thrown is passed on.
// Returns the number of the first chunk that was not begun.
std::size_t for_each_chunk(const std::vector<Chunk>& chunks, std::size_t threads,
                           const std::function<bool(std::size_t thread, std::size_t chunk)>& work,
                           const std::function<void(std::size_t)>& poll, std::size_t first = 0);

// The first place from `at` on and before `limit` at which a text can be cut without changing what becomes of it;
// nullptr if there is none. Either the pattern allows it, or one of the tokens begins there that the text is split at
// first; and the tokens must allow it.
template <class Tokens>
const Byte* find_cut(const Text& text, const Byte* at, const Byte* limit, Pattern pattern, const Tokens& tokens) {
  constexpr std::ptrdiff_t kStep = 1 << 14;  // no look goes far beyond the cut that it finds
  const auto longest = static_cast<std::ptrdiff_t>(tokens.longest());
  while (at < limit) {
    const Byte* step = at + std::min(limit - at, kStep);
    const Byte* token = std::min(tokens.find(at, step + std::min(text.end - step, longest)).begin, step);
    const Byte* cut = find_safe_cut(pattern, text.begin, at, token);
    if (cut < step && tokens.allows_cut(text.begin, cut, text.end)) return cut;
    at = cut < step ? cut + 1 : step;
  }
  return nullptr;
}

// The last such place up to `limit`, nullptr if there is none.
template <class Tokens>
const Byte* find_last_cut(const Text& text, const Byte* limit, Pattern pattern, const Tokens& tokens) {
  for (std::ptrdiff_t width = 1 << 12;; width *= 4) {
    const Byte* from = limit - text.begin > width ? limit - width : text.begin + 1;
    const Byte* last = nullptr;
    for (const Byte* cut = from; (cut = find_cut(text, cut, limit, pattern, tokens)) != nullptr; ++cut) last = cut;
    if (last != nullptr || from == text.begin + 1) return last;
  }
}

// The last place where a text can be cut whatever follows it, 0 if there is none.
template <class Tokens>
std::size_t find_last_cut(const Text& text, Pattern pattern, const Tokens& tokens) {
  // What begins before the end may go on behind it: a token, or a character of up to 4 bytes.
  const auto unsure = static_cast<std::ptrdiff_t>(std::max<std::size_t>(tokens.longest(), 4));
  if (text.end - text.begin <= unsure) return 0;
  const Byte* cut = find_last_cut(text, text.end - unsure, pattern, tokens);
  return cut == nullptr ? 0 : static_cast<std::size_t>(cut - text.begin);
}

struct Part {
  const Byte* begin;
  const Byte* end;
};

// What a chunk of part of a text really stands for, from one safe cut to another. If there is none in it, it is empty and
// belongs to the one before.
template <class Tokens>
Part part_of(const Text& text, const Chunk& chunk, Pattern pattern, const Tokens& tokens) {
  const Byte* begin = text.begin + chunk.begin;
  const Byte* end = text.begin + chunk.end;
  if (chunk.begin != 0) begin = find_cut(text, begin, end, pattern, tokens);
  if (begin == nullptr) return {text.begin, text.begin};
  if (end != text.end) end = find_cut(text, end, text.end, pattern, tokens);
  return {begin, end == nullptr ? text.end : end};
}

}  // namespace hf_bpe
