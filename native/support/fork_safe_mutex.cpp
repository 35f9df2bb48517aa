#include "support/fork_safe_mutex.hpp"

#include <vector>

#if !defined(_WIN32) && !defined(__wasi__)
#include <pthread.h>
#endif

namespace hf_bpe {
namespace {

// All mutexes there are. Never destroyed, because a process may fork while it ends.
struct Registry {
  PlainMutex mutex;
  std::vector<ForkSafeMutex*> all;
};

Registry& registry();

[[maybe_unused]] void lock_all() {  // where there is a fork
  registry().mutex.lock();
  for (ForkSafeMutex* each : registry().all) each->lock();
}

// The thread that forked is the only one in the child, where it holds what it has locked here.
[[maybe_unused]] void unlock_all() {
  for (ForkSafeMutex* each : registry().all) each->unlock();
  registry().mutex.unlock();
}

Registry& registry() {
  static Registry* const only = [] {
#if !defined(_WIN32) && !defined(__wasi__)
    pthread_atfork(lock_all, unlock_all, unlock_all);
#endif
    return new Registry;
  }();
  return *only;
}

}  // namespace

ForkSafeMutex::ForkSafeMutex() {
  const std::lock_guard lock(registry().mutex);
  registry().all.push_back(this);
}

ForkSafeMutex::~ForkSafeMutex() {
  const std::lock_guard lock(registry().mutex);
  std::erase(registry().all, this);
}

}  // namespace hf_bpe
