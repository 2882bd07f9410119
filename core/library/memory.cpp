#include "library/memory.h"

#include <stdexcept>
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

std::string picoseconds(Tick time) { return std::to_string(time.ps()) + " ps"; }

}  // namespace

Memory::Memory(const Settings& settings)
    : device_(build(settings)), capacity_(device_->capacity()) {
  device_->register_counters(counters_);
  for (auto& reading : counters_.read()) counter_names_.push_back(std::move(reading.name));
}

void Memory::send_when_free(const sim::Request& request, Tick now) {
  check(request, now);
  if (now != now_) play(now);
  if (waiting_.any()) [[unlikely]]
    check_woken(request.port);
  const Tick taken = device_->send(request, now, sink_);
  if (taken.is_never()) throw std::logic_error("the memory never has a place for a request");
  now_ = taken;
  accepted(request, taken);
  look_at_new();
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

Tick Memory::next_event() const {
  if (taken_ != sink_.size()) return now_;
  if (unfinished() == 0 && !waiting_.any()) return Tick::never();
  return max(now_, device_->next_event());
}

std::vector<Counters::Reading> Memory::read_counters() {
  play(now_);
  device_->settle(now_);
  return counters_.read();
}

void Memory::state(Archive& archive) {
  device_->state(archive);
  archive(now_, accepted_, notices_, told_, first_, last_told_, waiting_, sink_, taken_, seen_);
  watched_ = recorder_ != nullptr || accepted_[0] + accepted_[1] == 0;
}

void Memory::become(Memory other) {
  std::unique_ptr<Recorder> recorder = std::move(recorder_);
  *this = std::move(other);
  record(std::move(recorder));
}

void Memory::record(std::unique_ptr<Recorder> recorder) {
  recorder_ = std::move(recorder);
  watched_ = recorder_ != nullptr || accepted_[0] + accepted_[1] == 0;
}

void Memory::note(const sim::Request& request, Tick now) {
  if (accepted_[0] + accepted_[1] == 1) first_ = now;
  if (recorder_) {
    recorder_->accepted(request, now);
  } else {
    watched_ = false;
  }
}

void Memory::check_woken(std::uint16_t port) const {
  if (!waiting_.waits(port)) return;
  throw Misuse(Misuse::Kind::not_woken,
               "port " + std::to_string(port) +
                   ": was refused, expected no further request of it before its wake");
}

[[gnu::cold, gnu::noinline]] void Memory::bad_time(Tick time) const {
  if (time < now_) {
    throw Misuse(Misuse::Kind::time, "time: found " + picoseconds(time) +
                                         ", expected at least the present, " + picoseconds(now_));
  }
  throw Misuse(Misuse::Kind::argument, "time: found " + picoseconds(time) + ", expected at most " +
                                           picoseconds(last) + ", 106 days");
}

[[gnu::cold, gnu::noinline]] void Memory::bad_address(Address address) const {
  const std::string found = "address: found " + std::to_string(address.value());
  if (address.value() >= capacity_) {
    throw Misuse(Misuse::Kind::capacity, found + ", expected one below " +
                                             std::to_string(capacity_) + ", the capacity in bytes");
  }
  throw Misuse(Misuse::Kind::argument, found + ", expected a multiple of " +
                                           std::to_string(line_bytes) + ", the bytes of a line");
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
