// Texts shared out to threads: in chunks of several short texts, or of parts of a long one.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

#include "support/poll.hpp"
#include "text/unicode.hpp"

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

// How many threads are worth starting where any number may be asked for: one a chunk at most, and no more than machines
// have use for.
constexpr std::size_t kMostThreads = 1024;
inline std::size_t useful_threads(std::size_t wanted, std::size_t chunks) {
  return std::min({wanted, chunks, kMostThreads});
}

// What is done with a chunk, by its number and that of the thread. It calls its `poll` now and then.
using ChunkWork = std::function<bool(std::size_t thread, std::size_t chunk, const PollFunction& poll)>;

// Calls `work` for each chunk, in order, beginning with `first`, from up to `threads` threads, of which the calling one is
// number 0. Calls `poll` now and then in the calling thread, also while it waits for the others, with the number of bytes
// that are done. After either has thrown, chunks are left as they are, and what was thrown is passed on. After `work` has
// returned false, no more chunks are begun. Returns the number of the first chunk that was not begun.
std::size_t for_each_chunk(const std::vector<Chunk>& chunks, std::size_t threads, const ChunkWork& work,
                           const std::function<void(std::size_t)>& poll, std::size_t first = 0);

}  // namespace hf_bpe
