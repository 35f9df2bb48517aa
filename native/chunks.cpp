#include "chunks.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace hf_bpe {

std::vector<Chunk> share_out(const std::vector<Text>& texts, std::size_t chunk_bytes) {
  std::vector<Chunk> chunks;
  std::size_t room = 0;  // in the last chunk, for more short texts
  for (std::size_t text = 0; text < texts.size(); ++text) {
    const std::size_t from = texts[text].from;
    const std::size_t size = std::min(static_cast<std::size_t>(texts[text].end - texts[text].begin), texts[text].to);
    if (size <= from) continue;
    if (const bool is_part = from != 0 || size == texts[text].to; is_part || size > chunk_bytes) {
      for (std::size_t begin = from; begin < size; begin += chunk_bytes) {
        chunks.push_back({text, text, begin, std::min(begin + chunk_bytes, size)});
      }
      room = 0;
    } else if (size <= room) {
      chunks.back().last_text = text;
      chunks.back().end += size;
      room -= size;
    } else {
      chunks.push_back({text, text, 0, size});
      room = chunk_bytes - size;
    }
  }
  return chunks;
}

std::size_t for_each_chunk(const std::vector<Chunk>& chunks, std::size_t threads,
                           const std::function<bool(std::size_t, std::size_t)>& work,
                           const std::function<void(std::size_t)>& poll, std::size_t first) {
  std::atomic<std::size_t> next{first}, done_bytes{0};
  for (std::size_t i = 0; i < first; ++i) done_bytes += chunks[i].end - chunks[i].begin;
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::exception_ptr error;
  const auto run = [&](std::size_t thread) {
    try {
      for (std::size_t i; !stop && (i = next++) < chunks.size();) {
        if (!work(thread, i)) stop = true;
        done_bytes += chunks[i].end - chunks[i].begin;
        if (thread == 0) poll(done_bytes);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      stop = true;
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t i = 1; i < std::min(threads, chunks.size()); ++i) others.emplace_back(run, i);
    } catch (const std::system_error&) {
      // The system gives no more threads; those that there are do the work.
    }
    run(0);
  }
  if (error) std::rethrow_exception(error);
  poll(done_bytes);  // others may have left no chunk to the calling thread
  return std::min<std::size_t>(next, chunks.size());
}

}  // namespace hf_bpe
