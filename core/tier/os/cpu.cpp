#include "tier/os/cpu.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>

#include <bit>
#include <cstring>

#include "tier/os/system.h"
#include "tier/os/text.h"

namespace nearfar::tier::os {
namespace {

bool set_policy(int thread, int policy) noexcept {
  const sched_param no_priority{};
  return call(__NR_sched_setscheduler, thread, policy, word(&no_priority)) == 0;
}

long nice_of(int thread) noexcept {
  constexpr long lowest = 20;  // what the kernel answers is counted down from it
  return lowest - call(__NR_getpriority, PRIO_PROCESS, thread);
}

bool set_nice(int thread, long nice) noexcept {
  return call(__NR_setpriority, PRIO_PROCESS, thread, nice) == 0;
}

/// Reads what the kernel tells of a thread; a field of that, counted from 1 and beyond the second,
/// which is the thread's name in parentheses. Null if there is none.
template <std::size_t size>
const char* field_of(int stat, int wanted, char (&text)[size]) noexcept {
  const long got = call(__NR_pread64, stat, word(text), word(size - 1), 0);
  if (got <= 0) return nullptr;
  text[got] = '\0';
  const char* at = std::strrchr(text, ')');
  for (int field = 2; at != nullptr && field < wanted; ++field) {
    at = std::strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  return at;
}

}  // namespace

Cpus Cpus::only(int cpu) {
  Cpus cpus;
  const auto number = static_cast<std::size_t>(cpu);
  if (number / 64 < cpus.words.size()) cpus.words[number / 64] = std::uint64_t{1} << (number % 64);
  return cpus;
}

Cpus Cpus::all() {
  Cpus cpus;
  cpus.words.fill(~std::uint64_t{0});
  return cpus;
}

std::size_t Cpus::count() const {
  std::size_t all = 0;
  for (const std::uint64_t some : words) all += static_cast<std::size_t>(std::popcount(some));
  return all;
}

bool Cpus::has(int cpu) const { return *this != without(cpu); }

Cpus Cpus::without(int cpu) const {
  Cpus others = *this;
  const Cpus one = only(cpu);
  for (std::size_t i = 0; i < words.size(); ++i) others.words[i] &= ~one.words[i];
  return others;
}

Cpus cpus_of(int thread) noexcept {
  Cpus cpus;
  const long size = word(sizeof cpus.words);
  return call(__NR_sched_getaffinity, thread, size, word(cpus.words.data())) < 0 ? Cpus{} : cpus;
}

bool run_on(int thread, const Cpus& cpus) noexcept {
  const long size = word(sizeof cpus.words);
  return call(__NR_sched_setaffinity, thread, size, word(cpus.words.data())) == 0;
}

bool runs_as_others(int thread) noexcept {
  return call(__NR_sched_getscheduler, thread) == SCHED_OTHER;
}

void prefer(int thread, int steps) noexcept { (void)set_nice(thread, nice_of(thread) - steps); }

bool may_prefer_again() noexcept {
  constexpr long last = 19;
  const long nice = nice_of(0);
  return set_nice(0, nice == last ? nice - 1 : nice + 1) && set_nice(0, nice);
}

bool run_as_others(int thread) noexcept { return set_policy(thread, SCHED_OTHER); }

void run_when_idle(int thread) noexcept { set_policy(thread, SCHED_IDLE); }

int open_stat(int thread) noexcept {
  char path[64];
  char* end = put(put(path, "/proc/self/task/"), static_cast<unsigned long>(thread));
  *put(end, "/stat") = '\0';
  const long file = call(__NR_openat, AT_FDCWD, word(path), O_RDONLY | O_CLOEXEC);
  return static_cast<int>(file);
}

int cpu_of(int stat) noexcept {
  constexpr int processor = 39;
  char text[1024];
  const char* const at = field_of(stat, processor, text);
  return at == nullptr ? -1 : static_cast<int>(number(at));
}

bool is_asleep(int stat) noexcept {
  constexpr int state = 3;
  char text[1024];
  const char* const at = field_of(stat, state, text);
  return at != nullptr && (*at == 'S' || *at == 'D');
}

}  // namespace nearfar::tier::os
