// What an encoder shares with others, and what each thread has of its own.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encode/encoder.hpp"
#include "merge/backtracking.hpp"
#include "merge/long_pieces.hpp"
#include "merge/word_ids.hpp"
#include "scan/splitter.hpp"
#include "support/id_buffer.hpp"
#include "text/chunks.hpp"
#include "text/transcoding.hpp"

namespace hf_bpe {

// The state of one thread, with its cache, which survives calls.
class Encoder::Worker {
 public:
  explicit Worker(const Pattern& pattern, Simd simd) : splitter(pattern, simd), transcode_(transcode_for(simd)) {}
  virtual ~Worker() = default;
  // Writes the ids of words, see WordIds.
  virtual std::uint32_t* encode(const Byte* text, const Byte* const* ends, std::size_t count, const Byte* readable,
                                std::uint32_t* out, const PollFunction& poll) = 0;
  virtual std::uint32_t* encode(const Byte* text, const Byte* const* ends, std::size_t count, const Byte* readable,
                                std::uint32_t* out, const PollFunction& poll, const TextDraws& draws) = 0;

  // As in WordIds.
  virtual void begin_waiting() = 0;
  virtual bool may_wait(std::size_t words) const = 0;
  virtual std::uint32_t* encode_later(const Byte* text, const Byte* const* ends, std::size_t count,
                                      const Byte* readable, std::uint32_t* out, const PollFunction& poll) = 0;
  virtual std::uint32_t* finish(std::uint32_t* end, std::span<std::uint32_t*> text_ends) = 0;

  // The text in UTF-8, valid until the next call. Of calls for several texts with fewer than `most` bytes in all, each
  // keeps the first `kept` bytes, of the texts before it.
  Text utf8_of(const Text& text, std::size_t kept = 0, std::size_t most = 0) {
    if (text.width == 0) return text;
    const auto units = static_cast<std::size_t>(text.end - text.begin) / text.width;
    const std::size_t room = std::max(kept + units * utf8_bytes(text.width), most) + kTranscodingSlack;
    if (utf8_.size() < room) utf8_.resize(room);
    Byte* const out = utf8_.data() + kept;
    return {out, transcode_(text.begin, text.end, text.width, out)};
  }

  Splitter splitter;
  IdBuffer scratch;
  std::string prefixed;
  std::deque<std::string> prefixed_waiting;  // as long as their words wait

 private:
  const Transcode transcode_;
  std::vector<Byte> utf8_;
};

// Places between pre-tokens, or before added tokens, at which texts may probably be cut, with these distances in bytes:
// |---- 1024 ----|---- 1024 ----|-- 700 --|-128-|-128-|-128-|-128-| end, near which the next text may differ.
struct Encoder::CutPlaces {
  struct Place {
    std::size_t text;  // its number
    const Byte* at;
    std::size_t ids;  // before it, since `start`
  };
  std::vector<Place> found;

  void start(std::size_t text, const Byte* begin, const Byte* end, std::size_t ids) {
    text_ = text;
    ids_ = ids;
    end_ = end;
    last_ = begin;
    next_ = begin + distance(begin);
    skipped_ = 0;
  }
  // How many of some words to encode before the next place.
  std::size_t words_to_next(const Byte* const* ends, std::size_t count) const {
    const auto next = static_cast<std::size_t>(std::lower_bound(ends, ends + count, next_) - ends);
    return std::min(next + 1, count);
  }
  bool is_due(const Byte* at) const { return at >= next_ && at < end_; }
  bool is_due_before_token(const Byte* at) const { return at - last_ >= kNear; }  // nearly any text may be cut there
  void add(const Byte* at, std::size_t ids) {
    found.push_back({text_, at, ids - ids_});
    last_ = at;
    next_ = at + distance(at);
    skipped_ = 0;
  }
  // Not here. Further places are tried ever more rarely, for some texts have none.
  void skip(const Byte* at) { next_ = at + (skipped_ = std::min(2 * skipped_ + 1, kMaxSkipped)); }

  // Counts no dropped ids, of the ids since `start`, from the place `first` on.
  template <class IsDropped>
  void drop_ids(const std::uint32_t* ids, const IsDropped& is_dropped, std::size_t first) {
    std::size_t seen = 0, dropped = 0;
    for (; first < found.size(); ++first) {
      for (; seen < found[first].ids; ++seen) dropped += is_dropped(ids[seen]) ? 1 : 0;
      found[first].ids -= dropped;
    }
  }

 private:
  std::ptrdiff_t distance(const Byte* at) const { return std::clamp(end_ - at - kDense, kNear, kFar); }  // to the next

  static constexpr std::ptrdiff_t kNear = 128, kFar = 1024, kDense = 512, kMaxSkipped = 255;
  std::size_t text_ = 0, ids_ = 0;
  std::ptrdiff_t skipped_ = 0;
  const Byte *end_ = nullptr, *last_ = nullptr, *next_ = nullptr;
};

// The state shared by encoders that differ only in added tokens.
struct Encoder::Core {
  template <class Id>
  class WorkerOf : public Worker {
   public:
    explicit WorkerOf(const Core& core)
        : Worker(core.pattern, core.simd),
          core_(core),
          words_(core.vocabulary, core.backtracking, &core.long_pieces, core.simd) {}
    std::uint32_t* encode(const Byte* text, const Byte* const* ends, std::size_t count, const Byte* readable,
                          std::uint32_t* out, const PollFunction& poll) override {
      return words_.encode(text, ends, count, readable, out, poll);
    }
    std::uint32_t* encode(const Byte* text, const Byte* const* ends, std::size_t count, const Byte* readable,
                          std::uint32_t* out, const PollFunction& poll, const TextDraws& draws) override {
      if (!words_with_dropout_) {
        words_with_dropout_ =
            std::make_unique<WordIds<Id>>(core_.vocabulary, core_.backtracking, nullptr, core_.simd, false);
      }
      return words_with_dropout_->encode(text, ends, count, readable, out, poll, draws);
    }

    void begin_waiting() override {
      words_.begin_waiting();
      prefixed_waiting.clear();
    }
    bool may_wait(std::size_t words) const override { return words_.may_wait(words); }
    std::uint32_t* encode_later(const Byte* text, const Byte* const* ends, std::size_t count, const Byte* readable,
                                std::uint32_t* out, const PollFunction& poll) override {
      return words_.encode_later(text, ends, count, readable, out, poll);
    }
    std::uint32_t* finish(std::uint32_t* end, std::span<std::uint32_t*> text_ends) override {
      std::uint32_t* const finished = words_.finish(end, text_ends);
      prefixed_waiting.clear();
      return finished;
    }

   private:
    const Core& core_;
    WordIds<Id> words_;
    std::unique_ptr<WordIds<Id>> words_with_dropout_;  // its cache has no whole words
  };

  Core(Vocabulary given, Pattern pattern, Simd simd, std::size_t chunk_bytes)
      : vocabulary(std::move(given)),
        pattern(std::move(pattern)),
        simd(simd),
        chunk_bytes(std::max<std::size_t>(chunk_bytes, 1)),
        backtracking(vocabulary),
        long_pieces(vocabulary) {}
  ~Core() {
    for (Slot& slot : idle) delete slot.worker.load();
  }

  std::unique_ptr<Worker> make_worker() const {
    if (vocabulary.highest_id() < 1 << 16) return std::make_unique<WorkerOf<std::uint16_t>>(*this);
    return std::make_unique<WorkerOf<std::uint32_t>>(*this);
  }

  const Vocabulary vocabulary;
  const Pattern pattern;
  const Simd simd;
  const std::size_t chunk_bytes;
  const LazyBacktracking backtracking;
  const LazyLongPieces long_pieces;
  // Idle workers. There is no lock, so a process may fork at any time; no more are kept than fit here. Each has
  // a cache line of its own: two cores that write to one wait for each other.
  struct alignas(64) Slot {
    std::atomic<Worker*> worker{nullptr};
  };
  std::array<Slot, 64> idle;
};

// A worker for the duration of a call.
class Encoder::Lease {
 public:
  // A thread gets the worker back whose memory is in the cache of its core.
  explicit Lease(Core& core) : core_(core), first_(number_of_thread()) {
    for (std::size_t i = 0; i < core_.idle.size(); ++i) {
      if (slot(i).load(std::memory_order_relaxed) == nullptr) continue;
      worker_.reset(slot(i).exchange(nullptr, std::memory_order_acquire));
      if (worker_) return;
    }
    worker_ = core_.make_worker();
  }
  Lease(Lease&&) = default;
  ~Lease() {
    if (!worker_) return;
    for (std::size_t i = 0; i < core_.idle.size(); ++i) {
      Worker* expected = nullptr;
      if (slot(i).compare_exchange_strong(expected, worker_.get(), std::memory_order_release,
                                          std::memory_order_relaxed)) {
        static_cast<void>(worker_.release());
        return;
      }
    }
  }
  Worker& operator*() const { return *worker_; }
  Worker* operator->() const { return worker_.get(); }

 private:
  // The slots, from the thread's own on.
  std::atomic<Worker*>& slot(std::size_t i) const { return core_.idle[(first_ + i) % core_.idle.size()].worker; }

  Core& core_;
  std::size_t first_;
  std::unique_ptr<Worker> worker_;
};

// The ids of each thread, and where each chunk is in them.
struct Encoder::Results {
  struct ChunkIds {
    std::size_t thread, begin, end;  // in the ids of the thread
    std::optional<Byte> missing;
    CutPlaces places;
  };
  std::vector<Chunk> chunks;
  std::vector<ChunkIds> by_chunk;
  std::vector<IdBuffer> ids;          // by thread
  std::vector<std::int64_t> offsets;  // by text; at first the size of each text, stored after its beginning
};

}  // namespace hf_bpe
