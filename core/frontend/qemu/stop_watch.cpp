#include "frontend/qemu/stop_watch.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace nearfar::frontend::qemu {
namespace {

constexpr std::chrono::milliseconds between_looks{50};
// The report of a machine is written on it, without deep calls.
constexpr std::size_t stack_bytes = std::size_t{1} << 20;

}  // namespace

void StopWatch::start() {
  pthread_attr_t attributes{};
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // QEMU's handlers expect a thread of the guest.
  sigset_t all{}, before{};
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  pthread_create(
      &thread, &attributes,
      [](void* self) -> void* {
        static_cast<StopWatch*>(self)->watch();
        return nullptr;
      },
      this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
}

void StopWatch::watch() {
  while (access(file_.c_str(), F_OK) != 0) std::this_thread::sleep_for(between_looks);
  due_.store(true, std::memory_order_relaxed);
  then_();
}

}  // namespace nearfar::frontend::qemu
