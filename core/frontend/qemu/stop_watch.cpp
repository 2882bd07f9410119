#include "frontend/qemu/stop_watch.h"

#include <pthread.h>
#include <sys/syscall.h>
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

void die_of_sigterm() {
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGTERM, &usual, nullptr);
  sigset_t term{};
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &term, nullptr);
  syscall(SYS_kill, getpid(), SIGTERM);
  _exit(128 + SIGTERM);
}

}  // namespace nearfar::frontend::qemu
