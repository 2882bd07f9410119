#include "sim/dram/channel.h"

#include "sim/dram/controller.h"

namespace nearfar::sim::dram {

Channel::Channel(const Config& config, std::uint8_t channel_index, CommandLog* log, Mode mode)
    : controller_(std::make_unique<Controller>(config, channel_index, log, mode)) {}

Channel::~Channel() = default;

Accept Channel::try_send(const Request& request, Tick now) {
  return controller_->try_send(request, now);
}

Tick Channel::send(const Request& request, Tick now, Sink& sink) {
  return controller_->send(request, now, sink);
}

Tick Channel::next_event() const { return controller_->next_event(); }

void Channel::advance(Tick until, Sink& sink) { controller_->advance(until, sink); }

Tick Channel::advance_to_completion(Tick until, Sink& sink) {
  return controller_->advance_to_completion(until, sink);
}

bool Channel::idle() const { return controller_->idle(); }

void Channel::settle(Tick now) { controller_->settle(now); }

Energy Channel::energy() const { return controller_->energy(); }

void Channel::register_counters(Counters& counters, const std::string& prefix) const {
  controller_->register_counters(counters, prefix);
}

void Channel::state(Archive& archive) { controller_->state(archive); }

}  // namespace nearfar::sim::dram
