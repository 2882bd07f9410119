#include "frontend/program.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "frontend/frames.h"
#include "frontend/program_trace.h"
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
  const bool needs_near = options.place != Place::far;
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

Bytes page_bytes(const Program::Options& options) {
  return options.huge_pages ? Frames::huge : Frames::small;
}

using MakePlacer = std::unique_ptr<Placer> (*)(const std::string& policy, const Placer::Limits&);

struct Family {
  std::string_view prefix;
  MakePlacer make;
};
constexpr Family families[] = {
    {"cached:", make_cached}, {"flat:", make_flat}, {"oracle:", make_oracle}};

const Family* family_of(std::string_view place) {
  const auto* const found = std::ranges::find_if(
      families, [&](const Family& family) { return place.starts_with(family.prefix); });
  return found == std::end(families) ? nullptr : found;
}

std::unique_ptr<Placer> make_placer(Bytes near, const Program::Options& options) {
  const Bytes page = page_bytes(options);
  if (near < page) {
    throw InputError("run.near: expected at least a page of " + std::to_string(page) +
                     " B for a policy, found " + std::to_string(near) + " B");
  }
  const Family* const family = family_of(options.policy);
  if (family == nullptr) {
    throw InputError("run.place: '" + options.policy +
                     "' is not known, expected cached:NAME, flat:NAME or oracle:NAME");
  }
  const Bytes pages = std::min<Bytes>(near / page, policy::most_pages);
  return family->make(options.policy.substr(family->prefix.size()),
                      {.near_pages = static_cast<policy::PageIndex>(pages),
                       .interval = options.interval,
                       .pairs = options.pairs,
                       .detector = options.detector});
}

/// What may wait to be copied: as many pairs of pages as a decision exchanges, and no more than
/// near memory holds.
Bytes mover_room(const sim::Tiers& memory, const Settings& settings,
                 const Program::Options& options) {
  const Bytes page = page_bytes(options);
  const Bytes pages = std::min<Bytes>(options.pairs, near_bytes(memory, settings, options) / page);
  return 2 * pages * page;
}

AddressSpace make_space(const sim::Tiers& memory, const Settings& settings,
                        const Program::Options& options) {
  const Bytes near = near_bytes(memory, settings, options);
  AddressSpace::Options made{.place = options.place, .huge_pages = options.huge_pages};
  if (options.place == Place::policy) made.placer = make_placer(near, options);
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
    if (place == "near") {
      options.place = Place::near;
    } else if (place == "interleave") {
      options.place = Place::interleave;
    } else if (family_of(place) != nullptr) {
      options.place = Place::policy;
      options.policy = place;
    } else if (place != "far") {
      throw InputError("run.place: '" + place +
                       "' is not known, expected near, far, interleave, cached:NAME, flat:NAME or "
                       "oracle:NAME");
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
  if (settings.has("run.detector")) {
    options.detector = policy::detector_named(settings.name("run.detector"));
  }
  if (settings.has("run.whole_machine")) options.whole_machine = settings.flag("run.whole_machine");
  return options;
}

Program::Program(const Settings& settings, const Options& options)
    : memory_(sim::Tiers::build(settings)),
      space_(make_space(*memory_, settings, options)),
      guest_(options.whole_machine ? std::make_unique<GuestPages>(space_) : nullptr),
      socket_(*memory_,
              sim::core_of(settings, memory_->capacity() - memory_->near_capacity(),
                           memory_->near_capacity()),
              seed_of(settings)),
      cores_(socket_, sim::cpu::CoreConfig::from(settings), pages()),
      mover_(socket_, mover_room(*memory_, settings, options)),
      gate_(space_, mover_) {
  if (guest_) guest_gate_ = std::make_unique<GuestGate>(*guest_, gate_);
  if (options.place == Place::policy) {
    cores_.hold_at(guest_gate_ ? static_cast<sim::cpu::BlockGate&>(*guest_gate_) : gate_);
  }
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
    // A page table is none of the program's pages.
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
  copies_.clear();
  for (const Touch& touch : touched_) {
    space_.asked(touch.line, touch.write, touch.at, copies_);
  }
  touched_.clear();
  for (const AddressSpace::Copy& copy : copies_) mover_.copy(copy, socket_.now());
  // Also those that the gate has made since the last step.
  if (space_.moves() == moves_seen_) return;
  traffic_.add(4, socket_.now(), space_.moves() - moves_seen_);
  moves_seen_ = space_.moves();
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

/// Blocks that wait to be played have not been counted, and take no time here either.
void Program::look(Thread thread) {
  activity_.look(thread, cores_.retired(thread), cores_.counts(thread));
}

void Program::look_at_all() {
  for (Thread thread = 0; thread < cores_.size(); ++thread) look(thread);
  activity_.looked(socket_.now());
}

void Program::catch_up(const TouchedPages& touched) {
  for (Thread thread = 0; thread < cores_.size(); ++thread) cores_.play_fed(thread);
  space_.each_used_mapping([&](std::uint64_t begin, std::uint64_t end) {
    touched(begin, end, [&](std::uint64_t page) {
      if (seen_.add(page)) into_caches(page);
    });
  });
}

void Program::into_caches(std::uint64_t page) {
  const sim::cpu::PageMap::Frame found = space_.frame_of(Address(page));
  const Bytes offset = found.huge ? page % Frames::huge : 0;
  for (Bytes at = 0; at < Frames::small; at += line_bytes) {
    socket_.caches().hold(found.frame + offset + at);
  }
}

void Program::guest_maps(Thread thread, std::uint64_t virtual_page, std::uint64_t physical_page) {
  // The guest has waited for its own walks before it changed what they read.
  if (guest_->maps_otherwise(virtual_page, physical_page)) cores_.bring_to_rest(thread);
  if (!guest_->maps(virtual_page, physical_page)) return;
  socket_.caches().forget_translation(cores_.core_of(thread),
                                      Address(virtual_page << GuestPages::page_bits), false);
}

void Program::forget_translations(Thread thread) {
  cores_.bring_to_rest(thread);
  socket_.caches().forget_translations(cores_.core_of(thread));
  guest_->forget_lower_half();
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
  if (at > latest)
    throw InputError("the program goes on after 75 minutes, which cores cannot count");
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
