// Interruptible long loops: `poll` is called from time to time, and its exceptions end the loop.
#pragma once

#include <cstddef>
#include <functional>

namespace hf_bpe {

using PollFunction = std::function<void()>;

// For loops that are too short to be interrupted, and for tests.
inline const PollFunction kNoPoll = [] {};

// Calls `poll` once in about 65,000 steps of a loop, which take a few milliseconds.
class PollInLoop {
 public:
  explicit PollInLoop(const PollFunction& poll) : poll_(poll) {}

  void operator()(std::size_t steps = 1) {
    if (steps < left_) {
      left_ -= steps;
      return;
    }
    done_ += kSteps - left_ + steps;
    left_ = kSteps;
    poll_();
  }

  // The steps until the last call of `poll`.
  std::size_t done() const { return done_; }

 private:
  static constexpr std::size_t kSteps = std::size_t{1} << 16;

  const PollFunction& poll_;
  std::size_t left_ = kSteps, done_ = 0;
};

}  // namespace hf_bpe
