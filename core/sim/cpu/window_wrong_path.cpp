#include <algorithm>

#include "sim/cpu/window_core.h"

/// What a window core does after a wrong guess, until that is known.
///
/// It goes on where it guessed, and what it loads there is used if the program comes that way a
/// little later: behind a loop that it thought to be over, or in the next round of one that it did
/// not. Where the program does not, nothing is known of what the core would load, and nothing is
/// loaded. Registers that are changed before the paths meet are not followed (Eyerman and others,
/// "Simulating Wrong-Path Instructions in Decoupled Functional-First Simulation", ISPASS 2023,
/// find the paths that meet to be what matters).
namespace nearfar::sim::cpu {
namespace {

/// What flushes a line does so when it retires, which it never does here.
bool loads_something(const Instruction& instruction, std::span<const Access> accesses) {
  const bool flushes =
      names_a_line(instruction.kind) && instruction.kind != InstructionKind::prefetch;
  return !accesses.empty() && !accesses[0].store && !flushes;
}

}  // namespace

void WindowCore::look_ahead(std::span<const Upcoming> next) {
  looks_ahead_ = false;
  const auto meets = std::find_if(next.begin(), next.end(), [this](const Upcoming& one) {
    return predictor_.expected(*one.block);
  });
  if (meets == next.end()) return;
  Shadow shadow{.values = values_};
  for (const Upcoming& passed : next.first(static_cast<std::size_t>(meets - next.begin()))) {
    for (const Instruction& instruction : passed.block->instructions) {
      if (holds_back(instruction.kind)) return;
      for (const Register changed : instruction.destinations) shadow.lost[changed] = true;
    }
  }
  shadow.lost[no_register] = false;
  if (++guess_ == 0) ++guess_;
  guess_known_ = unknown_bit;
  go_wrong({meets, next.end()}, shadow);
}

/// As far as the reorder buffer and the load queue have room.
void WindowCore::go_wrong(std::span<const Upcoming> path, Shadow shadow) {
  const Position room = config_.rob - std::min<Position>(tail_ - head_, config_.rob);
  std::uint64_t loads = 0;  // in the queue
  while (loads < config_.loads && loads_[(load_count_ - loads - 1) & load_mask_] >= head_) ++loads;
  Fine at = std::max(dispatch_, fine(socket_.now()));
  Position taken = 0;
  for (const Upcoming& upcoming : path) {
    std::size_t first = 0;
    for (std::size_t i = 0; i < upcoming.block->instructions.size(); ++i) {
      const Instruction& instruction = upcoming.block->instructions[i];
      taken += instruction.uops;
      std::size_t end = first;
      while (end != upcoming.accesses.size() && upcoming.accesses[end].instruction == i) ++end;
      const auto accesses = upcoming.accesses.subspan(first, end - first);
      if (loads_something(instruction, accesses)) ++loads;
      if (taken > room || loads > config_.loads || holds_back(instruction.kind)) return;
      go_wrong(instruction, upcoming.block->instructions.steps()[i], accesses, at, shadow);
      first = end;
      at += instruction.uops * slot_time_;
    }
  }
}

/// One instruction, that could begin at `at`. Stores wait for what does not come.
void WindowCore::go_wrong(const Instruction& instruction, const Digest& step,
                          std::span<const Access> accesses, Fine at, Shadow& shadow) {
  const auto set = [&](Fine value, bool lost) {
    for (const Register destination : instruction.destinations) {
      if (destination == no_register) continue;
      shadow.values[destination] = value;
      shadow.lost[destination] = lost;
    }
  };
  const auto lost = [&](const auto& sources) {
    return std::any_of(sources.begin(), sources.end(),
                       [&](Register source) { return shadow.lost[source]; });
  };
  Inputs inputs;
  inputs.add(at);
  if (!loads_something(instruction, accesses)) {
    if (lost(instruction.sources) || (!accesses.empty() && lost(instruction.address_sources)))
      return set(0, true);
    for (const Register source : instruction.sources) inputs.add(shadow.values[source]);
  } else {
    if (lost(instruction.address_sources)) return set(0, true);
    const Fine data = load_wrong(instruction, accesses, at, shadow);
    if (data == 0 || lost(instruction.sources)) return set(0, true);
    for (const Register source : instruction.sources) inputs.add(shadow.values[source]);
    inputs.add(data);
  }
  const Operation operation{.latency = step.ports == 0 ? 0 : step.latency * period_};
  if (inputs.count == 0) return set(inputs.latest + operation.latency, false);
  set(unknown_bit | new_node({.guess = guess_, .operation = operation}, inputs), false);
}

/// When its data are there; 0 if it is not made.
Fine WindowCore::load_wrong(const Instruction& instruction, std::span<const Access> accesses,
                            Fine at, const Shadow& shadow) {
  const Access& access = accesses[0];
  if (access.address % line_bytes + access.size > line_bytes) return 0;
  const std::optional<PageMap::Frame> page = pages_.find(Address(access.address));
  if (!page) return 0;
  Place place = place_of(access.address);
  if (accesses.size() > 1 && accesses[1].pointer) place.leads_to = Address(accesses[1].address);
  Inputs address;
  address.add(at);
  for (const Register source : instruction.address_sources) address.add(shadow.values[source]);
  const bool here = socket_.caches().where(core_, place.physical) == Hierarchy::Level::l1;
  if (address.count == 0 && here) return address.latest + l1_latency_;
  Node node{.guess = guess_, .operation = {.latency = l1_latency_}};
  if (!here) {
    ++wrong_loads_;
    node = {.kind = Node::Kind::load, .guess = guess_, .place = place};
  }
  if (address.count != 0) return unknown_bit | new_node(node, address);
  const Index index = nodes_.take(node);
  socket_.call_at(coarse(address.latest), core_, index);
  return unknown_bit | index;
}

}  // namespace nearfar::sim::cpu
