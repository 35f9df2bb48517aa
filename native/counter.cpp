#include "counter.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#if defined(__linux__) || defined(__APPLE__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace hf_bpe {
namespace {

// What a thread takes at a time: several short texts, or a part of a long one.
struct Chunk {
  std::size_t first_text, last_text;  // last included
  std::size_t begin, end;             // where in the only text, to be moved to where a cut is safe; else their size
};

std::vector<Chunk> share_out(const std::vector<Text>& texts, std::size_t chunk_bytes) {
  std::vector<Chunk> chunks;
  std::size_t room = 0;  // in the last chunk, for more short texts
  for (std::size_t text = 0; text < texts.size(); ++text) {
    const auto size = static_cast<std::size_t>(texts[text].end - texts[text].begin);
    if (size == 0) continue;
    if (size <= room) {
      chunks.back().last_text = text;
      chunks.back().end += size;
      room -= size;
    } else if (size <= chunk_bytes) {
      chunks.push_back({text, text, 0, size});
      room = chunk_bytes - size;
    } else {
      for (std::size_t begin = 0; begin < size; begin += chunk_bytes) {
        chunks.push_back({text, text, begin, std::min(begin + chunk_bytes, size)});
      }
      room = 0;
    }
  }
  return chunks;
}

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
  Worker(const CountingOptions& options, const SpecialTokens& specials)
      : pattern_(options.pattern), specials_(specials), scan_(options.pattern, options.simd) {}

  WordCounts counts;
  std::optional<InvalidUtf8> invalid;  // the first that this thread has seen

  void count(const std::vector<Text>& texts, const Chunk& chunk) {
    for (std::size_t index = chunk.first_text; index <= chunk.last_text && !invalid; ++index) {
      const Text& text = texts[index];
      const Byte* from = text.begin;
      const Byte* to = text.end;
      if (chunk.first_text == chunk.last_text) {
        // A chunk without a safe cut belongs to the one before it.
        const Byte* end = text.begin + chunk.end;
        if (chunk.begin != 0) from = find_cut(text, text.begin + chunk.begin, end);
        if (from == nullptr) return;
        if (end != text.end) to = find_cut(text, end, text.end);
        if (to == nullptr) to = text.end;
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

  // The first safe cut of a text from `at` on and before `limit`, nullptr if there is none.
  const Byte* find_cut(const Text& text, const Byte* at, const Byte* limit) const {
    constexpr std::ptrdiff_t kStep = 1 << 14;  // no look goes far beyond the cut that it finds
    const auto longest = static_cast<std::ptrdiff_t>(specials_.longest());
    while (at < limit) {
      const Byte* step = at + std::min(limit - at, kStep);
      // Either the pattern allows the cut, or a special token begins there, which is a cut already.
      const Byte* special = specials_.find(at, step + std::min(text.end - step, longest)).begin;
      special = std::min(special, step);
      const Byte* cut = find_safe_cut(pattern_, text.begin, at, special);
      if (cut < step && !specials_.is_across(text.begin, cut, text.end)) return cut;
      at = cut < step ? cut + 1 : step;
    }
    return nullptr;
  }

  const Pattern pattern_;
  const SpecialTokens& specials_;
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
  std::atomic<std::size_t> next{0}, done_bytes{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::exception_ptr error;

  // Chunks are taken in order, so that all before the first that is found invalid have been looked at.
  const auto work = [&](Worker& worker) {
    try {
      for (std::size_t i; !stop && (i = next++) < chunks.size();) {
        worker.count(texts, chunks[i]);
        if (worker.invalid) stop = true;
        done_bytes += chunks[i].end - chunks[i].begin;
        if (&worker == &workers_[0]) poll(done_bytes);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      stop = true;
    }
  };
  {
    std::vector<std::jthread> threads;
    try {
      for (std::size_t i = 1; i < useful; ++i) {
        threads.emplace_back(work, std::ref(workers_[i]));
      }
    } catch (const std::system_error&) {
      // The system gives no more threads; those that there are do the work.
    }
    work(workers_[0]);
  }
  if (error) std::rethrow_exception(error);
  poll(done_bytes);  // others may have left no chunk to the calling thread

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

SpecialTokens::SpecialTokens(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {
  std::erase(tokens_, "");
  std::stable_sort(tokens_.begin(), tokens_.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  for (const std::string& token : tokens_) is_first_[static_cast<Byte>(token[0])] = true;
  has_one_first_ = std::count(std::begin(is_first_), std::end(is_first_), true) == 1;
}

SpecialTokens::Found SpecialTokens::find(const Byte* from, const Byte* end) const {
  if (tokens_.empty()) return {end, end};
  for (; from < end; ++from) {
    if (has_one_first_) {
      from = static_cast<const Byte*>(std::memchr(from, tokens_[0][0], static_cast<std::size_t>(end - from)));
      if (from == nullptr) break;
    } else if (!is_first_[*from]) {
      continue;
    }
    const auto left = static_cast<std::size_t>(end - from);
    for (const std::string& token : tokens_) {
      if (token.size() <= left && std::memcmp(token.data(), from, token.size()) == 0) return {from, from + token.size()};
    }
  }
  return {end, end};
}

bool SpecialTokens::is_across(const Byte* begin, const Byte* at, const Byte* end) const {
  for (const std::string& token : tokens_) {
    const std::size_t before = std::min(token.size() - 1, static_cast<std::size_t>(at - begin));
    const std::size_t behind = std::min(token.size() - 1, static_cast<std::size_t>(end - at));
    const std::string_view around(reinterpret_cast<const char*>(at - before), before + behind);
    if (around.find(token) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace hf_bpe
