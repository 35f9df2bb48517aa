// A mutex that no process inherits locked: a fork waits until the other threads have released it. Whoever holds it must
// neither fork nor wait for anything that a forking thread may hold, such as the GIL.
#pragma once

#include <mutex>

namespace hf_bpe {

#if defined(__wasi__)  // the target of web/, which has no threads
struct PlainMutex {
  void lock() {}
  void unlock() {}
};
#else
using PlainMutex = std::mutex;
#endif

class ForkSafeMutex {
 public:
  ForkSafeMutex();
  ~ForkSafeMutex();
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  PlainMutex mutex_;
};

}  // namespace hf_bpe
