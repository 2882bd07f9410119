// Checks of a reader beside others: what each does, that they end together, and what is refused.
#include <sys/time.h>
#include <array>
#include <csignal>
#include <functional>
#include <thread>

#include "checks.h"

namespace guest {
namespace {

nearfar_contention member(Chunks& chunks, std::uint32_t role, std::uint64_t area = 64 << 10) {
  nearfar_contention asked{.run = run_into(chunks), .area = area, .seed = 1, .role = role};
  asked.run.members = 2;
  if (role == NEARFAR_READS) asked.reads = 2000;
  if (role == NEARFAR_GENERATES) {
    asked.op = NEARFAR_STORE;
    asked.stores = 1;
    asked.accesses = 4;
  }
  return asked;
}

nearfar_contention other(Chunks& chunks, std::uint32_t role) {
  nearfar_contention asked = member(chunks, role);
  asked.run.base = mib;
  return asked;
}

// Both calls, by two threads; their errors.
std::array<int, 2> together(const Client& client, nearfar_contention& one,
                            nearfar_contention& two) {
  std::array<int, 2> errors{-1, -1};
  std::thread second([&] {
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
    errors[1] = ask(client.fd(), NEARFAR_IOC_CONTENTION, two);
  });
  errors[0] = ask(client.fd(), NEARFAR_IOC_CONTENTION, one);
  second.join();
  return errors;
}

void check_roles() {
  const Client client(4 * mib);
  Chunks timings(1 << 14);
  Chunks none(1);
  nearfar_contention alone = member(timings, NEARFAR_READS);
  alone.run.members = 1;
  expect("a reader alone", ask(client.fd(), NEARFAR_IOC_CONTENTION, alone), 0);
  report("times every load", lines_of(timings, alone.run) == 2000 ? "" : "not all");
  for (const std::uint32_t role : {NEARFAR_GENERATES, NEARFAR_CHASES, NEARFAR_DISTURBS}) {
    for (const std::uint64_t pause_ps : {0UL, 200'000UL}) {
      const std::string name =
          " of role " + std::to_string(role) + " and pause " + std::to_string(pause_ps);
      nearfar_contention reader = member(timings, NEARFAR_READS);
      nearfar_contention loads = other(none, role);
      loads.pause_ps = pause_ps;
      const auto errors = together(client, reader, loads);
      expect("a reader beside one" + name, errors[0], 0);
      expect("the one" + name + " ends with it", errors[1], 0);
      report("every load is timed" + name, lines_of(timings, reader.run) == 2000 ? "" : "not all");
      report("the lines are counted" + name, loads.lines > 0 && loads.cycles > 0 ? "" : "none");
      const std::uint64_t bursts = loads.stored * 4;
      const bool even = role == NEARFAR_GENERATES
                            ? bursts + 4 > loads.lines && bursts <= loads.lines
                            : loads.stored == 0;
      report("a quarter of a generator's are stores" + name, even ? "" : "another share");
    }
  }
}

void check_pace() {
  const Client client(4 * mib);
  Chunks timings(1 << 14);
  Chunks none(1);
  nearfar_info info{};
  ask(client.fd(), NEARFAR_IOC_INFO, info);
  nearfar_contention reader = member(timings, NEARFAR_READS);
  nearfar_contention loads = other(none, NEARFAR_GENERATES);
  loads.pause_ps = 1'000'000;  // a line a microsecond, at most
  together(client, reader, loads);
  const std::uint64_t us = loads.cycles * 1000 / info.tsc_khz;
  report("a generator is no faster than its pace", loads.lines <= us + 2 ? "" : "faster");
}

void check_ends() {
  const Client client(4 * mib);
  Chunks timings(1 << 16);
  Chunks none(1);
  nearfar_contention reader = member(timings, NEARFAR_READS);
  nearfar_contention loads = other(none, NEARFAR_DISTURBS);
  reader.reads = NEARFAR_MOST_LINES;
  const itimerval soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 100'000}};
  setitimer(ITIMER_REAL, &soon, nullptr);
  auto errors = together(client, reader, loads);
  expect("a signal ends a reader", errors[0], EINTR);
  expect("and with it the other", errors[1], 0);
  nearfar_contention one = member(none, NEARFAR_DISTURBS);
  nearfar_contention two = other(none, NEARFAR_GENERATES);
  errors = together(client, one, two);
  expect("a team without a reader ends at once", errors[0], 0);
  expect("for all of its members", errors[1], 0);
}

struct Wrong {
  const char* name;
  int error;
  std::uint32_t role;
  std::function<void(nearfar_contention&)> spoil;
};

void check_refusals() {
  const Client client(4 * mib);
  Chunks chunks(64);
  const std::vector<Wrong> wrongs{
      {"a contention of another version", EPROTO, NEARFAR_READS,
       [](nearfar_contention& c) { c.run.protocol = NEARFAR_PROTOCOL + 1; }},
      {"an unknown role", EINVAL, NEARFAR_READS,
       [](nearfar_contention& c) { c.role = NEARFAR_ROLES; }},
      {"no area", EINVAL, NEARFAR_READS, [](nearfar_contention& c) { c.area = 0; }},
      {"an area of half lines", EINVAL, NEARFAR_READS,
       [](nearfar_contention& c) { c.area = 4096 + 32; }},
      {"an area beyond the memory", ERANGE, NEARFAR_READS,
       [](nearfar_contention& c) { c.area = 8 * mib; }},
      {"an area beyond the limit", E2BIG, NEARFAR_READS,
       [](nearfar_contention& c) { c.area = std::uint64_t{1} << 40; }},
      {"no reads", EINVAL, NEARFAR_READS, [](nearfar_contention& c) { c.reads = 0; }},
      {"too many reads", E2BIG, NEARFAR_READS, [](nearfar_contention& c) { c.reads = ~0UL; }},
      {"a reader that pauses", EINVAL, NEARFAR_READS,
       [](nearfar_contention& c) { c.pause_ps = 1; }},
      {"a reader that stores", EINVAL, NEARFAR_READS,
       [](nearfar_contention& c) { c.accesses = 1; }},
      {"an answer that is given", EINVAL, NEARFAR_READS,
       [](nearfar_contention& c) { c.lines = 1; }},
      {"a disturber alone", EINVAL, NEARFAR_DISTURBS,
       [](nearfar_contention& c) { c.run.members = 1; }},
      {"a disturber that reads", EINVAL, NEARFAR_DISTURBS,
       [](nearfar_contention& c) { c.reads = 1; }},
      {"an unknown operation of a disturber", EINVAL, NEARFAR_DISTURBS,
       [](nearfar_contention& c) { c.op = NEARFAR_OPS; }},
      {"a pause beyond the limit", E2BIG, NEARFAR_DISTURBS,
       [](nearfar_contention& c) { c.pause_ps = NEARFAR_MOST_PAUSE_PS + 1; }},
      {"a generator without accesses", EINVAL, NEARFAR_GENERATES,
       [](nearfar_contention& c) { c.accesses = c.stores = 0; }},
      {"a generator of more stores than accesses", EINVAL, NEARFAR_GENERATES,
       [](nearfar_contention& c) { c.stores = 5; }},
      {"a generator whose stores are loads", EINVAL, NEARFAR_GENERATES,
       [](nearfar_contention& c) { c.op = NEARFAR_LOAD; }},
      {"a generator in less than 512 B", EINVAL, NEARFAR_GENERATES,
       [](nearfar_contention& c) { c.area = 448; }},
  };
  for (const Wrong& wrong : wrongs) {
    nearfar_contention asked = member(chunks, wrong.role);
    wrong.spoil(asked);
    expect(std::string(wrong.name) + " is refused", ask(client.fd(), NEARFAR_IOC_CONTENTION, asked),
           wrong.error);
  }
}

}  // namespace

void check_contention() {
  check_roles();
  check_pace();
  check_ends();
  check_refusals();
}

}  // namespace guest
