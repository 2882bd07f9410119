#include "library/memory.h"

#include <utility>

#include "sim/machine/build.h"
#include "sim/machine/tiers.h"

namespace nearfar::library {
namespace {

std::unique_ptr<sim::Device> build(const Settings& settings) {
  const bool tiers = settings.has("near.kind") && settings.name("near.kind") == "tier";
  if (tiers) return sim::Tiers::build(settings);
  return sim::build(settings);
}

[[noreturn, gnu::cold, gnu::noinline]] void misused(Misuse::Kind kind, const std::string& text) {
  throw Misuse(kind, text);
}

std::string picoseconds(Tick time) { return std::to_string(time.ps()) + " ps"; }

[[noreturn, gnu::cold, gnu::noinline]] void bad_time(Tick time, Tick now) {
  if (time < now) {
    misused(Misuse::Kind::time, "time: found " + picoseconds(time) +
                                    ", expected at least the present, " + picoseconds(now));
  }
  misused(Misuse::Kind::argument, "time: found " + picoseconds(time) + ", expected at most " +
                                      picoseconds(Memory::last) + ", 106 days");
}

[[noreturn, gnu::cold, gnu::noinline]] void bad_address(Address address, Bytes capacity) {
  const std::string found = "address: found " + std::to_string(address.value());
  if (address.value() >= capacity) {
    misused(Misuse::Kind::capacity,
            found + ", expected one below " + std::to_string(capacity) + ", the capacity in bytes");
  }
  misused(Misuse::Kind::argument, found + ", expected a multiple of " + std::to_string(line_bytes) +
                                      ", the bytes of a line");
}

}  // namespace

Memory::Memory(const Settings& settings)
    : device_(build(settings)), capacity_(device_->capacity()) {
  device_->register_counters(counters_);
  for (auto& reading : counters_.read()) counter_names_.push_back(std::move(reading.name));
}

bool Memory::send(const sim::Request& request, Tick now) {
  check(request, now);
  if (now != now_) play(now);
  if (waiting_.waits(request.port)) {
    misused(Misuse::Kind::not_woken,
            "port " + std::to_string(request.port) +
                ": was refused, expected no further request of it before its wake");
  }
  if (!device_->try_send(request, now).accepted) {
    waiting_.refuse(request.port);
    return false;
  }
  unfinished_ += request.tell_media && request.op == sim::Op::write ? 2 : 1;
  return true;
}

void Memory::fence(Tick now) {
  check_time(now);
  play(now);
  device_->fence(now);
}

void Memory::advance(Tick until) {
  check_time(until);
  play(until);
}

void Memory::advance_to_completion(Tick until) {
  if (play_to_completion(until)) look_at_new();
}

bool Memory::play_to_completion(Tick until) {
  if (!until.is_never()) {
    check_time(until);
  } else if (unfinished_ == 0 && !waiting_.any()) {
    return false;
  }
  const Tick reached = device_->advance_to_completion(until, sink_);
  if (!reached.is_never()) now_ = max(now_, reached);
  return true;
}

Tick Memory::next_event() const {
  if (taken_ != sink_.size()) return now_;
  if (unfinished_ == 0 && !waiting_.any()) return Tick::never();
  return max(now_, device_->next_event());
}

std::vector<Counters::Reading> Memory::read_counters() {
  play(now_);
  device_->settle(now_);
  return counters_.read();
}

void Memory::state(Archive& archive) {
  device_->state(archive);
  archive(now_, unfinished_, waiting_, sink_, taken_, seen_);
}

void Memory::check_time(Tick time) const {
  if (time < now_ || time > last) [[unlikely]]
    bad_time(time, now_);
}

void Memory::check(const sim::Request& request, Tick now) const {
  check_time(now);
  const std::uint64_t address = request.address.value();
  if (address >= capacity_ || address % line_bytes != 0) [[unlikely]]
    bad_address(request.address, capacity_);
}

void Memory::play(Tick until) {
  device_->advance(until, sink_);
  now_ = until;
  look_at_new();
}

void Memory::look_at_new() {
  for (; seen_ != sink_.size(); ++seen_) look_at(sink_[seen_]);
}

}  // namespace nearfar::library
