#include "count/counter.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "added_tokens/cuts.hpp"
#include "scan/splitter.hpp"

#if defined(__linux__) || defined(__APPLE__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace hf_bpe {
namespace {

// Returns the pages wholly inside a part of a mapped file to the system, which can read them again. Also those shortly
// before it, down to `limit`: reading across a cut brings back whole large folios.
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

const Byte* find_invalid_utf8(const Byte* text, const Byte* end, const PollFunction& poll) {
  for (PollInLoop polls(poll); text < end; polls()) {
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
  Worker(WordCounts empty, const CountingOptions& options, const AddedTokens& specials)
      : counts(std::move(empty)),
        pattern_(options.pattern),
        specials_(specials),
        splitter_(options.pattern, options.simd) {}

  WordCounts counts;
  std::optional<InvalidUtf8> invalid;  // the first that this thread has found

  void count(const std::vector<Text>& texts, const Chunk& chunk, std::uint64_t weight, const PollFunction& poll) {
    for (std::size_t index = chunk.first_text; index <= chunk.last_text && !invalid; ++index) {
      const Text& text = texts[index];
      const Byte* from = text.begin;
      const Byte* to = text.end;
      if (chunk.first_text == chunk.last_text) {
        const Part part = part_of(text, chunk, {.pattern = pattern_, .tokens = specials_, .poll = poll});
        from = part.begin;
        to = part.end;
      }
      if (text.must_be_utf8) {
        if (const Byte* at = find_invalid_utf8(from, to, poll)) {
          invalid = {index, static_cast<std::size_t>(at - text.begin)};
          return;
        }
      }
      count(from, to, text.end, weight, poll);
      if (text.is_mapped) release_pages(text.begin, from, to);
    }
  }

 private:
  // Counts a text from one safe cut to another; it may be read up to `readable`.
  void count(const Byte* from, const Byte* to, const Byte* readable, std::uint64_t weight, const PollFunction& poll) {
    PollInLoop polls(poll);
    const auto on_text = [&](const Byte* begin, const Byte* end) {
      const auto on_words = [&](const Byte* words, const Byte* const* ends, std::size_t count) {
        const auto* copy = splitter_.copy();
        counts.add_each(words, ends, count, copy ? copy->end : readable, weight);
        polls(count);
      };
      // The rest of a text after a cut begins with a space or a special token, so it gets no space either way.
      splitter_.split(begin, end, poll, on_words, begin == from);
    };
    specials_.split(from, to, false, on_text, [&](std::uint32_t, const Byte*, const Byte*) { polls(); });
  }

  const Pattern pattern_;
  const AddedTokens& specials_;
  Splitter splitter_;
};

Counter::Counter(const CountingOptions& options) : options_(options), specials_(plain_tokens(options.special_tokens)) {
  options_.threads = std::clamp<unsigned>(options_.threads, 1, kMaxThreads);
  options_.chunk_bytes = min_chunk(std::max<std::size_t>(options_.chunk_bytes, 1), specials_);
  // A table counts as full if the words of another chunk might not fit.
  if (options_.memory != 0)
    options_.chunk_bytes = std::min(options_.chunk_bytes, options_.memory / options_.threads / 128 + 1);
}

Counter::~Counter() = default;

WordCounts Counter::empty_counts() const {
  return options_.memory == 0 ? WordCounts() : WordCounts(options_.memory / options_.threads);
}

void Counter::note(const std::vector<Text>& texts, std::uint64_t weight) {
  for (const Text& text : texts) {
    const std::uint64_t end = std::min(static_cast<std::size_t>(text.end - text.begin), text.to);
    const std::uint64_t bytes = end - std::min<std::uint64_t>(end, text.from);
    if (bytes > (std::numeric_limits<std::uint64_t>::max() - most_) / std::max<std::uint64_t>(weight, 1)) {
      throw std::overflow_error(
          "the bytes of the text, times their weights, are 2**64 or more; choose smaller weights");
    }
    most_ += bytes * weight;
  }
}

Counter::Added Counter::add(const std::vector<Text>& texts, const std::function<void(std::size_t)>& poll,
                            std::uint64_t weight, std::size_t first_chunk) {
  const std::vector<Chunk> chunks = share_out(texts, options_.chunk_bytes);
  if (first_chunk > chunks.size()) throw std::invalid_argument("first_chunk: expected what an earlier call returned");
  if (first_chunk == 0) note(texts, weight);
  const std::size_t useful = useful_threads(options_.threads, chunks.size());
  while (workers_.size() < useful) workers_.emplace_back(empty_counts(), options_, specials_);
  const auto is_full = [&](const Worker& worker) {
    return options_.memory != 0 && worker.counts.is_full(options_.chunk_bytes);
  };
  for (Worker& worker : workers_) {
    worker.invalid.reset();  // may be left over from an exception
    if (is_full(worker)) return {first_chunk, first_chunk == chunks.size(), std::nullopt};
  }
  const auto work = [&](std::size_t thread, std::size_t chunk, const PollFunction& poll_in_chunk) {
    workers_[thread].count(texts, chunks[chunk], weight, poll_in_chunk);
    return !workers_[thread].invalid && !is_full(workers_[thread]);
  };
  // Chunks are taken in order, and every taken chunk is finished; so all before the first invalid one have been
  // checked, and all before the first that was not taken have been counted.
  const std::size_t done = for_each_chunk(chunks, useful, work, poll, first_chunk);

  std::optional<InvalidUtf8> first;
  for (const Worker& worker : workers_) {
    const auto& other = worker.invalid;
    if (other && (!first || std::pair(other->text, other->offset) < std::pair(first->text, first->offset)))
      first = other;
  }
  return {done, done == chunks.size(), first};
}

std::vector<WordCounts> Counter::take() {
  std::vector<WordCounts> all;
  for (Worker& worker : workers_) all.push_back(std::move(worker.counts));
  workers_.clear();
  most_ = 0;
  return all;
}

}  // namespace hf_bpe
