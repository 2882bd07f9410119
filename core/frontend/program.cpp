#include "frontend/program.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "frontend/frames.h"
#include "sim/machine/tables.h"

namespace nearfar::frontend {
namespace {

/// What the program may use of near memory.
Bytes near_bytes(const sim::Tiers& memory, const Settings& settings,
                 const Program::Options& options) {
  Bytes all = memory.near_capacity();
  if (all != 0 && settings.has("near.capacity")) {
    all = std::min(all, settings.bytes("near.capacity"));
  }
  const bool needs_near = options.placement != Placement::far;
  if (needs_near && all == 0) {
    throw InputError(
        "run.place: the model has no near memory; set near.kind=tier and near.dram, "
        "or expected far");
  }
  if (options.near_bytes > all) {
    throw InputError("run.near: " + std::to_string(options.near_bytes) +
                     " B are more than the near memory of " + std::to_string(all) + " B");
  }
  return options.near_bytes == 0 ? all : options.near_bytes;
}

AddressSpace make_space(const sim::Tiers& memory, const Settings& settings,
                        const Program::Options& options) {
  const Bytes near = near_bytes(memory, settings, options);
  AddressSpace::Options made{.placement = options.placement, .huge_pages = options.huge_pages};
  if (options.placement == Placement::policy) {
    const Bytes page = options.huge_pages ? Frames::huge : Frames::small;
    if (near < page) {
      throw InputError("run.near: expected at least a page of " + std::to_string(page) +
                       " B for a policy, found " + std::to_string(near) + " B");
    }
    made.policy = policy::make_policy(
        options.policy,
        {.near_pages = near / page, .interval = options.interval, .pairs = options.pairs});
  }
  return {Frames(Address(0), near),
          Frames(Address(memory.near_capacity()), memory.capacity() - memory.near_capacity()),
          std::move(made)};
}

std::uint64_t seed_of(const Settings& settings) {
  return settings.has("seed") ? settings.count("seed") : 1;
}

}  // namespace

Program::Options Program::Options::from(const Settings& settings) {
  Options options;
  if (settings.has("run.place")) {
    const std::string& place = settings.name("run.place");
    constexpr std::string_view policy_prefix = "policy:";
    if (place == "near") {
      options.placement = Placement::near;
    } else if (place == "interleave") {
      options.placement = Placement::interleave;
    } else if (place.starts_with(policy_prefix)) {
      options.placement = Placement::policy;
      options.policy = place.substr(policy_prefix.size());
    } else if (place != "far") {
      throw InputError("run.place: '" + place +
                       "' is not known, expected near, far, interleave or policy:NAME");
    }
  }
  if (settings.has("run.near")) options.near_bytes = settings.bytes("run.near");
  if (settings.has("run.pages")) {
    const std::string& pages = settings.name("run.pages");
    if (pages != "small" && pages != "huge") {
      throw InputError("run.pages: '" + pages + "' is not known, expected small or huge");
    }
    options.huge_pages = pages == "huge";
  }
  if (settings.has("run.interval")) options.interval = settings.time("run.interval");
  if (settings.has("run.pairs")) options.pairs = settings.count("run.pairs");
  return options;
}

Program::Program(const Settings& settings, const Options& options)
    : memory_(sim::Tiers::build(settings)),
      space_(make_space(*memory_, settings, options)),
      socket_(*memory_,
              sim::core_of(settings, memory_->capacity() - memory_->near_capacity(),
                           memory_->near_capacity()),
              seed_of(settings)),
      cores_(socket_, sim::cpu::CoreConfig::from(settings), space_),
      mover_(socket_) {
  Counters caches;
  socket_.caches().register_counters(caches);
  counters_.add_below("cache.", caches);
  Counters memory;
  memory_->register_counters(memory);
  counters_.add_below("memory.", memory);
  using Core = sim::cpu::Socket::Core;
  socket_.watch([this](sim::cpu::Socket::Traffic what, Core core, Address line, Tick at) {
    sent(what, core, line, at);
  });
  socket_.watch_fences([this](Core core, bool full, Tick at) {
    const auto kind = full ? trace::Access::full_fence : trace::Access::store_fence;
    const Thread thread = cores_.thread_on(core);
    if (trace_) trace_->add(static_cast<std::uint16_t>(thread), kind, {}, at, executed(thread));
  });
  cores_.after_each([this] { after_step(); });
}

void Program::sent(sim::cpu::Socket::Traffic what, std::uint16_t core, Address line, Tick at) {
  using Traffic = sim::cpu::Socket::Traffic;
  const bool moves = what == Traffic::move_read || what == Traffic::move_write;
  const bool write = !sim::cpu::Socket::reads(what);
  if (!moves) {
    const bool near = space_.is_near(line);
    traffic_.add((near ? 0 : 2) + (write ? 1 : 0), at);
    if (write && !near) far_writes_.add(line);
    // Page tables are no page of the program's.
    if (what == Traffic::table) {
      ++table_lines_;
    } else {
      touched_.push_back({.line = line, .write = write, .at = at});
    }
  }
  if (!trace_) return;
  const auto access = !write                      ? trace::Access::read
                      : what == Traffic::nt_store ? trace::Access::nt_write
                      : what == Traffic::flush    ? trace::Access::flush
                                                  : trace::Access::write;
  if (moves) {
    trace_->add(moving_thread, access, line, at, 0);
  } else {
    const Thread thread = cores_.thread_on(core);
    trace_->add(static_cast<std::uint16_t>(thread), access, line, at, executed(thread));
  }
}

std::uint64_t Program::executed(Thread thread) const { return cores_.counts(thread).instructions; }

/// Pages are moved between events, not within one.
void Program::after_step() {
  if (socket_.now() >= activity_.due()) look_at_all();
  if (touched_.empty()) return;
  copies_.clear();
  for (const Touch& touch : touched_) {
    const std::uint64_t before = space_.moves();
    space_.touched(touch.line, touch.write, touch.at, copies_);
    if (space_.moves() != before) traffic_.add(4, touch.at, space_.moves() - before);
  }
  touched_.clear();
  for (const AddressSpace::Copy& copy : copies_) mover_.copy(copy.from, copy.to, copy.bytes);
}

Program::Thread Program::thread_started(Tick at) {
  if (cores_.size() == 0) {
    sim::settle_at(*memory_, at);
    begin(at);
  }
  const Thread thread = cores_.add(at);
  activity_.add(cores_.clock(thread));
  return thread;
}

/// What waits to be played has not been counted, and takes no time here either.
void Program::look(Thread thread) {
  activity_.look(thread, cores_.retired(thread), cores_.counts(thread));
}

void Program::look_at_all() {
  for (Thread thread = 0; thread < cores_.size(); ++thread) look(thread);
  activity_.looked(socket_.now());
}

void Program::run(Thread thread, const sim::cpu::Block& block,
                  std::span<const sim::cpu::Access> accesses) {
  cores_.feed(thread, block, accesses);
  if (cores_.cores() != 1) cores_.play();
}

void Program::flush_range(Thread thread, Address address, Bytes bytes) {
  cores_.flush(thread, address, bytes, true);
  cores_.play();
}

void Program::left(Thread thread) {
  cores_.leave(thread);
  cores_.play();
  look(thread);
}

void Program::thread_ended(Thread thread) {
  cores_.end(thread);
  cores_.play();
  look(thread);
}

void Program::came_back(Thread thread, Tick at) {
  look(thread);
  cores_.come_back(thread, at);
  activity_.idle(thread, cores_.clock(thread));
}

void Program::wait(Thread thread, Tick until) {
  cores_.catch_up(thread);
  came_back(thread, until);
}

Tick Program::now(Thread thread) {
  cores_.catch_up(thread);
  return cores_.clock(thread);
}

}  // namespace nearfar::frontend
