// A mutex that no process inherits locked: a fork waits until the other threads have released it. Whoever holds it must
// neither fork nor wait for anything that a forking thread may hold, such as the GIL.
#pragma once

#include <mutex>

namespace hf_bpe {

class ForkSafeMutex {
 public:
  ForkSafeMutex();
  ~ForkSafeMutex();
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace hf_bpe
