#include "text/chunks.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>
#if !defined(__wasi__)
#include <condition_variable>
#include <mutex>
#include <thread>
#endif

namespace hf_bpe {

std::vector<Chunk> share_out(const std::vector<Text>& texts, std::size_t chunk_bytes) {
  std::vector<Chunk> chunks;
  std::size_t room = 0;  // in the last chunk, for more short texts
  for (std::size_t text = 0; text < texts.size(); ++text) {
    const std::size_t from = texts[text].from;
    const std::size_t size = std::min(static_cast<std::size_t>(texts[text].end - texts[text].begin), texts[text].to);
    if (size <= from) continue;
    if (const bool is_part = from != 0 || size == texts[text].to; is_part || size > chunk_bytes) {
      for (std::size_t begin = from; begin < size;) {
        const std::size_t end = begin + std::min(chunk_bytes, size - begin);
        chunks.push_back({text, text, begin, end});
        begin = end;
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

// Of the address of errno, for a thread_local of ours would be allocated at its first use, which ends the process where
// memory is exhausted.
std::size_t number_of_thread() {
  constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // spreads what lies at regular distances
  return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(&errno) * kGoldenRatio) >> 32);
}

bool prepare_to_throw() noexcept {
  constexpr std::size_t kEnough = 1024;  // for some words, and what the allocator keeps of a thread
  // Not `operator new`, whose variant that returns null throws and catches in libstdc++. Volatile, or compilers may
  // leave the allocation out.
  void* volatile const memory = std::malloc(kEnough);
  if (memory == nullptr) return false;
  std::free(memory);
  static_cast<void>(std::uncaught_exceptions());
  return true;
}

#if defined(__wasi__)  // the target of web/, which has no threads

std::size_t for_each_chunk(const std::vector<Chunk>& chunks, std::size_t, const ChunkWork& work,
                           const std::function<void(std::size_t)>& poll, std::size_t first) {
  std::size_t next = first, done_bytes = 0;
  for (std::size_t i = 0; i < first; ++i) done_bytes += chunks[i].end - chunks[i].begin;
  for (bool goes_on = true; goes_on && next < chunks.size();) {
    const std::size_t i = next++;
    goes_on = work(0, i, [&] { poll(done_bytes); });
    done_bytes += chunks[i].end - chunks[i].begin;
    poll(done_bytes);
  }
  return next;
}

#else

namespace {

// Ends the work of a thread after another one has failed.
struct Abandoned {};

}  // namespace

std::size_t for_each_chunk(const std::vector<Chunk>& chunks, std::size_t threads, const ChunkWork& work,
                           const std::function<void(std::size_t)>& poll, std::size_t first) {
  constexpr auto kBetweenPolls = std::chrono::milliseconds(20);
  std::atomic<std::size_t> next{first}, done_bytes{0};
  for (std::size_t i = 0; i < first; ++i) done_bytes += chunks[i].end - chunks[i].begin;
  std::atomic<bool> stop{false}, failed{false};
  std::mutex mutex;
  std::condition_variable finished;
  std::size_t ended = 0;  // of the other threads
  std::exception_ptr error;
  const auto fail = [&] {
    const std::lock_guard lock(mutex);
    if (!error) error = std::current_exception();
    stop = failed = true;
  };
  const auto run = [&](std::size_t thread) {
    const PollFunction poll_in_chunk = [&, thread] {
      if (failed) throw Abandoned();
      if (thread == 0) poll(done_bytes);
    };
    try {
      for (std::size_t i; !stop && (i = next++) < chunks.size();) {
        if (!work(thread, i, poll_in_chunk)) stop = true;
        done_bytes += chunks[i].end - chunks[i].begin;
        if (thread == 0) poll(done_bytes);
      }
    } catch (const Abandoned&) {
    } catch (...) {
      fail();
    }
  };
  {
    // Not std::jthread, which the libc++ of Apple's compilers does not have yet. Nothing below throws before they are
    // joined.
    std::vector<std::thread> workers;
    workers.reserve(std::min(threads, chunks.size()));
    const auto run_other = [&](std::size_t thread) {
      if (prepare_to_throw()) run(thread);  // else the other threads do its work
      const std::lock_guard lock(mutex);
      ++ended;
      finished.notify_one();
    };
    try {
      for (std::size_t i = 1; i < std::min(threads, chunks.size()); ++i) workers.emplace_back(run_other, i);
    } catch (const std::system_error&) {
      // The system cannot start more threads; the existing ones do the work.
    } catch (const std::bad_alloc&) {
    }
    run(0);
    for (std::unique_lock lock(mutex); ended != workers.size();) {
      if (finished.wait_for(lock, kBetweenPolls) == std::cv_status::no_timeout || failed) continue;
      lock.unlock();
      try {
        poll(done_bytes);  // others may have a long chunk
      } catch (...) {
        fail();
      }
      lock.lock();
    }
    for (std::thread& worker : workers) worker.join();
  }
  if (error) std::rethrow_exception(error);
  poll(done_bytes);  // others may have left no chunk to the calling thread
  return std::min<std::size_t>(next, chunks.size());
}

#endif

}  // namespace hf_bpe
