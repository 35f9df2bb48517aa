// Distribution of texts to threads, in chunks of several short texts or of parts of a long one.
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
  bool is_mapped = false;  // a mapped file: its pages are returned to the system after reading
  unsigned width = 0;      // of a unit, if the text is not UTF-8 but Latin-1 (1), UCS-2 (2) or UCS-4 (4)
  // The range from the first safe cut at or after `from` to the first at or after `to`.
  std::size_t from = 0, to = std::numeric_limits<std::size_t>::max();
};

struct Chunk {
  std::size_t first_text, last_text;  // last included
  std::size_t begin, end;             // the range in a single text, to be moved to safe cuts; else the size
};

std::vector<Chunk> share_out(const std::vector<Text>& texts, std::size_t chunk_bytes);

// The number of threads to start for a requested number: at most one per chunk, and no more than machines can use.
constexpr std::size_t kMaxThreads = 1024;
inline std::size_t useful_threads(std::size_t wanted, std::size_t chunks) {
  return std::min({wanted, chunks, kMaxThreads});
}

// A number of the calling thread, always the same, and mostly unlike the numbers of other threads.
std::size_t number_of_thread();

// Allocates the memory that the calling thread needs in order to throw, and returns whether there was enough. C++
// runtime libraries do so at the first exception of a thread otherwise, which may be the one that says that memory is
// exhausted, and then end the process.
bool prepare_to_throw() noexcept;

// The work on a chunk, given its number and the thread's. It calls its `poll` from time to time.
using ChunkWork = std::function<bool(std::size_t thread, std::size_t chunk, const PollFunction& poll)>;

// Calls `work` for each chunk in order, starting with `first`, from up to `threads` threads, of which the calling
// thread is number 0. Calls `poll` from time to time in the calling thread, also while it waits for the others, with
// the number of bytes done. After an exception of either no more chunks are started, and the exception propagates.
// After `work` has returned false, no more chunks are started. Returns the number of the first chunk that was not
// started.
std::size_t for_each_chunk(const std::vector<Chunk>& chunks, std::size_t threads, const ChunkWork& work,
                           const std::function<void(std::size_t)>& poll, std::size_t first = 0);

}  // namespace hf_bpe
