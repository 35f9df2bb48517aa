// How the work of a training is shared out to threads. It decides only how fast, never the result.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "support/poll.hpp"
#include "text/chunks.hpp"

namespace hf_bpe {

struct Sharing {
  unsigned threads = 1;
  std::size_t min_slots = std::size_t{1} << 19;  // of a part: with fewer, starting a thread takes longer

  // The number of parts of an array with this number of slots. More would take more memory than they save time.
  std::size_t parts_of(std::size_t slots) const {
    constexpr unsigned kMax = 8;
    const std::size_t max_parts = std::clamp(threads, 1u, kMax);
    return std::clamp<std::size_t>(slots / std::max<std::size_t>(min_slots, 1), 1, max_parts);
  }
};

// Calls `work` with the number of each part, in threads, and with a function that it calls from time to time; in the
// calling thread this calls `poll`. After an exception the other parts are abandoned, and it propagates.
inline void for_each_part(std::size_t parts, const PollFunction& poll,
                          const std::function<void(std::size_t part, const PollFunction& poll)>& work) {
  if (parts == 1) return work(0, poll);
  const std::vector<Chunk> chunks(parts);
  const auto run = [&](std::size_t, std::size_t part, const PollFunction& poll_in_part) {
    work(part, poll_in_part);
    return true;
  };
  for_each_chunk(chunks, parts, run, [&](std::size_t) { poll(); });
}

}  // namespace hf_bpe
