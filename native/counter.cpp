#include "counter.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#if defined(__linux__) || defined(__APPLE__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace hf_bpe {
namespace {

// Gives the pages that lie wholly inside a part of a mapped file back to the system, which can read them again. Those
// shortly before it, too, down to `limit`: a look across a cut brings whole large folios of them back.
void release_pages(const Byte* limit, const Byte* begin, const Byte* end) {
#if defined(__linux__) || defined(__APPLE__)
  constexpr std::ptrdiff_t kLargestFolio = std::ptrdiff_t{2} << 20;
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  begin -= std::min(begin - limit, kLargestFolio);
  const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
  const std::uintptr_t last = reinterpret_cast<std::uintptr_t>(end) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);  // only advice
#else
  static_cast<void>(limit);
  static_cast<void>(begin);
  static_cast<void>(end);
#endif
}

const Byte* find_invalid_utf8(const Byte* text, const Byte* end) {
  while (text < end) {
    if (end - text >= 8) {
      std::uint64_t bytes;
      std::memcpy(&bytes, text, sizeof bytes);
      if ((bytes & 0x8080808080808080) == 0) {
        text += 8;
        continue;
      }
    }
    const unsigned length = character_at(text, end).length;
    if (length == 1 && *text >= 0x80) return text;
    text += length;
  }
  return nullptr;
}

}  // namespace

// Counts chunks for one thread.
class Counter::Worker {
 public:
  Worker(const CountingOptions& options, const TokenFinder& specials)
      : pattern_(options.pattern), specials_(specials), scan_(options.pattern, options.simd) {}

  WordCounts counts;
  std::optional<InvalidUtf8> invalid;  // the first that this thread has seen

  void count(const std::vector<Text>& texts, const Chunk& chunk) {
    for (std::size_t index = chunk.first_text; index <= chunk.last_text && !invalid; ++index) {
      const Text& text = texts[index];
      const Byte* from = text.begin;
      const Byte* to = text.end;
      if (chunk.first_text == chunk.last_text) {
        const Part part = part_of(text, chunk, pattern_, specials_);
        from = part.begin;
        to = part.end;
      }
      if (text.must_be_utf8) {
        if (const Byte* found = find_invalid_utf8(from, to)) {
          invalid = {index, static_cast<std::size_t>(found - text.begin)};
          return;
        }
      }
      count(from, to, text.end);
      if (text.is_mapped) release_pages(text.begin, from, to);
    }
  }

 private:
  // Counts from one safe cut to another of a text that may be read as far as `readable`.
  void count(const Byte* from, const Byte* to, const Byte* readable) {
    while (from < to) {
      const auto special = specials_.find(from, to);
      scan_.scan_all(from, special.begin, [&](const Byte* words, const Byte* const* ends, std::size_t count) {
        counts.add_each(words, ends, count, readable);
      });
      from = special.end;
    }
  }

  const Pattern pattern_;
  const TokenFinder& specials_;
  const Scanner scan_;
};

Counter::Counter(const CountingOptions& options) : options_(options), specials_(options.special_tokens) {
  workers_.emplace_back(options_, specials_);
}

Counter::~Counter() = default;

std::optional<InvalidUtf8> Counter::add(const std::vector<Text>& texts, const std::function<void(std::size_t)>& poll) {
  const std::vector<Chunk> chunks = share_out(texts, std::max<std::size_t>(options_.chunk_bytes, 1));
  const std::size_t useful = std::min<std::size_t>(options_.threads, chunks.size());
  while (workers_.size() < useful) workers_.emplace_back(options_, specials_);
  for (Worker& worker : workers_) worker.invalid.reset();  // an exception may have left it
  const auto work = [&](std::size_t thread, std::size_t chunk) {
    workers_[thread].count(texts, chunks[chunk]);
    return !workers_[thread].invalid;
  };
  // Chunks are taken in order, so that all before the first that is found invalid have been looked at.
  for_each_chunk(chunks, useful, work, poll);

  std::optional<InvalidUtf8> first;
  for (const Worker& worker : workers_) {
    const auto& found = worker.invalid;
    if (found && (!first || std::pair(found->text, found->offset) < std::pair(first->text, first->offset))) first = found;
  }
  return first;
}

WordCounts Counter::finish() {
  WordCounts counts = std::exchange(workers_[0].counts, WordCounts());
  for (std::size_t i = 1; i < workers_.size(); ++i) counts.add(std::exchange(workers_[i].counts, WordCounts()));
  return counts;
}

}  // namespace hf_bpe
