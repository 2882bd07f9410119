#include "sim/machine/tiers.h"

#include <algorithm>
#include <utility>

#include "sim/machine/build.h"

namespace nearfar::sim {
namespace {

// A sender makes two ports of a queue: one for reads and, behind it, one for writes. The bit
// in front of that tells the memories apart; without it, it is the memory's own port.
std::uint16_t inner_port(std::uint16_t port) {
  return static_cast<std::uint16_t>((port & 1) | (port >> 1 & ~1u));
}

std::uint64_t outer_port(std::uint64_t port, bool far) {
  return (port & 1) | (far ? 2 : 0) | (port & ~std::uint64_t{1}) << 1;
}

}  // namespace

Tiers::Tiers(std::unique_ptr<Device> near, std::unique_ptr<Device> far)
    : near_(std::move(near)),
      far_(std::move(far)),
      near_bytes_(near_ ? near_->capacity() : Bytes{0}) {}

std::unique_ptr<Tiers> Tiers::build(const Settings& settings, dram::CommandLog* log,
                                    dram::CommandLog* near_log) {
  const bool near = settings.has("near.kind") && settings.name("near.kind") == "tier";
  return std::make_unique<Tiers>(near ? build_near_dram(settings, near_log) : nullptr,
                                 sim::build(settings, log));
}

Accept Tiers::try_send(const Request& request, Tick now) {
  Request here = request;
  here.port = inner_port(request.port);
  if (is_near(request.address)) return near_->try_send(here, now);
  here.address = Address(request.address.value() - near_bytes_);
  return far_->try_send(here, now);
}

void Tiers::fence(Tick now) {
  if (near_) near_->fence(now);
  far_->fence(now);
}

Tick Tiers::next_event() const {
  return near_ ? min(near_->next_event(), far_->next_event()) : far_->next_event();
}

void Tiers::advance(Tick until, Sink& sink) {
  const std::size_t first = sink.size();
  const auto take = [&](Device& device, bool far) {
    told_.clear();
    device.advance(until, told_);
    for (Completion& completion : told_) {
      if (completion.kind == Completion::Kind::wake) {
        completion.id = outer_port(completion.id, far);
      } else {
        completion.address = completion.address + (far ? near_bytes_ : 0);
      }
      sink.push_back(completion);
    }
  };
  if (near_) take(*near_, false);
  take(*far_, true);
  // Sorting takes memory, and mostly there is one or none.
  if (sink.size() < first + 2) return;
  std::stable_sort(sink.begin() + static_cast<std::ptrdiff_t>(first), sink.end(),
                   [](const Completion& a, const Completion& b) { return a.time < b.time; });
}

bool Tiers::idle() const { return (!near_ || near_->idle()) && far_->idle(); }

std::uint32_t Tiers::queues() const {
  return 2 * std::max(near_ ? near_->queues() : 0, far_->queues());
}

std::uint32_t Tiers::queue_of(Address address) const {
  if (is_near(address)) return 2 * near_->queue_of(address);
  return 2 * far_->queue_of(Address(address.value() - near_bytes_)) + 1;
}

void Tiers::settle(Tick now) {
  if (near_) near_->settle(now);
  far_->settle(now);
}

void Tiers::state(Archive& archive) {
  if (near_) near_->state(archive);
  far_->state(archive);
  archive(told_);
}

void Tiers::register_counters(Counters& counters) const {
  if (near_) {
    Counters near;
    near_->register_counters(near);
    counters.add_below("near.", near);
  }
  Counters far;
  far_->register_counters(far);
  counters.add_below("far.", far);
}

}  // namespace nearfar::sim
