// How the pager's threads start, in a new process and in a forked child.

#include <algorithm>

#include "tier/os/keep.h"
#include "tier/os/thread.h"
#include "tier/service/service.h"

namespace nearfar::tier {

void Service::start() {
  const PagerCpu wanted = pager_.wanted_cpu();
  open_wake_ups(wanted);
  wake_pipe_.listen();
  if (!waiting_.reserve(most_waiting, workers_.all.size()) || !held_.reserve(most_held))
    os::fail("no address space for the pager");
  forget_all();
  process_ = os::call(__NR_getpid);
  own_tracer_.start(pager_.memory().status_descriptor());
  start_threads(wanted);
}

/// Also of workers to come: when they start, the program may just be closing descriptors that this
/// library is not known to need.
void Service::open_wake_ups(PagerCpu wanted) {
  for (Worker& worker : workers_.all) worker.wake_up.close();
  workers_ = {};
  if (const int error = pager_wake_up().open(); error < 0) os::fail("no descriptors left", error);
  const bool may_be_several = wanted == PagerCpu::automatic || wanted == PagerCpu::per_cpu;
  const std::size_t processors = os::cpus_of(0).count();
  handlers_.others = static_cast<int>(std::max<std::size_t>(processors, 2)) - 1;
  const std::size_t most = may_be_several ? std::min(processors, workers_.all.size()) : 1;
  for (std::size_t i = 1; i < most; ++i)
    static_cast<void>(workers_.all[i].wake_up.open());  // fewer workers if that fails
}

/// In a forked child, what its parent was doing.
void Service::forget_all() {
  requests_.start();
  lock_.start();
  pager_.in_flight().clear();
  waiting_.clear();
  held_.clear();
  discards_.start();
  progress_.new_faults = 0;
  reads_messages_.store(false);
}

void Service::start_threads(PagerCpu wanted) {
  affinity_.start(pager_.uffd().descriptor(), wanted);
  const auto run_affinity = [](void* self) { static_cast<PagerAffinity*>(self)->run(); };
  if (os::keep_open(pager_.uffd().descriptor(), run_affinity, &affinity_) == 0)
    os::fail("no memory for a thread that keeps far memory");
  affinity_.wait_for_thread();
  const auto run_pager = [](void* self) { static_cast<Service*>(self)->run(); };
  const int thread = os::start_thread(run_pager, this);
  if (thread == 0) os::fail("no memory for the pager's thread");
  pager_.set_thread(0, thread);
  affinity_.set_thread(0, thread);
}

void Service::start_in_child(os::Place stack, std::int32_t process) {
  pager_.fork().become_child(stack, process);
  apply_held_in_child();
  pager_.fork().register_in_child();
  pager_.flat().become_child();
  start();
}

int Service::first_owned(int from) {
  int first = -1;
  const auto consider = [&](int descriptor) {
    if (descriptor >= from && (first < 0 || descriptor < first)) first = descriptor;
  };
  for (const Worker& worker : workers_.all) consider(worker.wake_up.descriptor());
  for (const int own : {kept_, wake_pipe_.pipe(), wake_pipe_.descriptor()}) consider(own);
  consider(pager_.first_owned(from));
  return first;
}

}  // namespace nearfar::tier
