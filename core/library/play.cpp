#include "library/play.h"

#include <string>

namespace nearfar::library {
namespace {

void note(const sim::Completion& completion, Played& played) {
  if (completion.kind == sim::Completion::Kind::wake) return;
  played.done_ps[completion.id] = completion.time.ps();
}

/// Plays up to the next completions.
void step(Memory& memory, Played& played) {
  memory.wait(Tick::never(), 16,
              [&](const sim::Completion& completion) { note(completion, played); });
}

void check(const Memory& memory, const Arrivals& arrivals) {
  const std::size_t count = arrivals.addresses.size();
  if (arrivals.writes.size() != count ||
      (!arrivals.times.empty() && arrivals.times.size() != count)) {
    throw Misuse(Misuse::Kind::argument,
                 "stream: found " + std::to_string(count) + " addresses, " +
                     std::to_string(arrivals.writes.size()) + " operations and " +
                     std::to_string(arrivals.times.size()) + " times, expected as many of each");
  }
  if (memory.unfinished() != 0 || !memory.completions().empty()) {
    throw Misuse(Misuse::Kind::argument,
                 "stream: found requests under way, expected all to be completed and taken");
  }
}

}  // namespace

Played play(Memory& memory, const Arrivals& arrivals, std::uint64_t outstanding) {
  check(memory, arrivals);
  const std::size_t count = arrivals.addresses.size();
  Played played{std::vector<std::uint64_t>(count), std::vector<std::uint64_t>(count)};
  for (std::size_t i = 0; i < count; ++i) {
    while (outstanding != 0 && memory.unfinished() >= outstanding) step(memory, played);
    const sim::Request request{
        .id = i,
        .address = Address(arrivals.addresses[i]),
        .op = arrivals.writes[i] != 0 ? sim::Op::write : sim::Op::read,
    };
    const Tick due = arrivals.times.empty() ? memory.now() : Tick(arrivals.times[i]);
    memory.send_when_free(request, max(due, memory.now()));
    const auto told = memory.completions();
    for (const sim::Completion& completion : told) note(completion, played);
    if (!told.empty()) memory.take(told.size());
    played.accepted_ps[i] = memory.now().ps();
  }
  while (memory.unfinished() != 0 || !memory.completions().empty()) step(memory, played);
  return played;
}

}  // namespace nearfar::library
