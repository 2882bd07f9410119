#include "tier/service/own_tracer.h"

#include <fcntl.h>
#include <sys/prctl.h>

#include "tier/os/status.h"
#include "tier/os/system.h"

namespace nearfar::tier {

bool OwnTracer::is_usable() const {
  return place_.pipe != 0 && os::filters_of(status_) <= place_.filters;
}

void OwnTracer::start(int status) {
  status_ = status;
  traces_ = false;
  process_ = os::number_in_proc();
  for (std::atomic<int>& thread : threads_) thread.store(0);
}

void OwnTracer::add_this_thread(std::size_t position) {
  if (!is_usable() || position >= most_threads) return;
  threads_[position].store(os::thread_number_in_proc());
}

void OwnTracer::ask_for(int thread) const {
  if (thread == 0) return;
  os::call(__NR_prctl, PR_SET_PTRACER, place_.process);  // of use where Yama restricts ptrace
  send({.process = process_, .thread = thread});
}

os::Tracer OwnTracer::for_new_threads() const {
  if (!is_usable() || !traces_) return os::Tracer::none;
  const auto status = os::read_thread_status();
  return status && status->tracer == place_.process ? os::Tracer::inherit : os::Tracer::none;
}

void OwnTracer::trace_all(bool wanted) {
  if (wanted == traces_) return;
  traces_ = wanted;
  if (!is_usable()) return;
  if (!wanted) {
    send({.process = process_, .thread = 0});
    return;
  }
  for (const std::atomic<int>& thread : threads_) ask_for(thread.load());
}

/// The tracer may be gone, or the pipe full; then the threads stay as they are.
void OwnTracer::send(Request request) const {
  const int pipe = os::open_of(place_.process, place_.pipe, O_NONBLOCK);
  if (pipe < 0) return;
  os::call(__NR_write, pipe, os::word(&request), sizeof request);
  os::call(__NR_close, pipe);
}

}  // namespace nearfar::tier
