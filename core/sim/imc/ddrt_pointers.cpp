#include <algorithm>

#include "sim/imc/ddrt_channel.h"

/// The channel's part of Pre-translation: marked reads, uncertain reads, and what the processor
/// tells of pointers.
namespace nearfar::sim::imc {

void DdrtChannel::send_marked(const Request& request, Address device, Tick arrives) {
  const Index read = pending_.take({.request = request, .device = device, .holds_slot = true});
  if (!dimm_.pretranslates()) {
    dimm_.read(read, device, arrives);
    return;
  }
  const Address pointer = device.aligned_down(line_bytes) + request.pointer_offset;
  dimm_.read_pointer(read, pointer, (request.marks & pretranslation::entry_only) == 0, arrives);
}

/// The bus carries where the pointer leads behind the line, or in its place; `sent` is when the
/// line has it. A read that was marked and got no answer took a line's time.
Tick DdrtChannel::send_entry(Pending& pending, std::uint64_t frame, Tick sent) {
  pending.frame = frame;
  const bool line = (pending.request.marks & pretranslation::entry_only) == 0;
  const bool entry = frame != nvdimm::Dimm::no_frame || !line;
  const Tick taken = (line ? config_.line : Tick{}) + (entry ? config_.entry : Tick{});
  // take_bus() has counted a line.
  bus_free_ = sent + taken;
  bus_busy_ps_ += taken.ps();
  bus_busy_ps_ -= config_.line.ps();
  return sent + taken;
}

void DdrtChannel::hold(const Request& request, Address device) {
  uncertain_.push_back(pending_.take({.request = request, .device = device, .holds_slot = true}));
}

/// Takes effect in an event, for what has a slot by now may have to wake another.
void DdrtChannel::resolve(const Request& request, Address device, bool right, Tick now) {
  const auto found = std::find_if(uncertain_.begin(), uncertain_.end(), [&](Index index) {
    return pending_[index].request.id == request.id && pending_[index].device == device;
  });
  if (found == uncertain_.end()) return;
  const Index index = *found;
  uncertain_.erase(found);
  ++(right ? confirmed_ : given_up_);
  events_.push(now, {right ? Event::Kind::confirmed : Event::Kind::given_up, index});
}

void DdrtChannel::learn(Address pointer, std::uint64_t frame, Tick at) {
  if (!dimm_.pretranslates()) return;
  events_.push(at, {Event::Kind::told, told_.take({pointer, frame})});
}

void DdrtChannel::handle_pointer(const Event& event, Tick now, Sink& sink) {
  if (event.kind == Event::Kind::told) {
    const Told told = told_[event.index];
    told_.give_back(event.index);
    const Tick start = max(now, bus_ready(true));
    bus_used_ = bus_last_write_ = true;
    bus_free_ = start + config_.entry;
    bus_busy_ps_ += config_.entry.ps();
    dimm_.learn(told.pointer, told.frame, bus_free_);
    return;
  }
  const Pending pending = pending_[event.index];
  pending_.give_back(event.index);
  if (event.kind == Event::Kind::given_up) {
    --reads_;
    wake_next(false, now, sink);
    return;
  }
  Request request = pending.request;
  request.marks &= static_cast<pretranslation::Marks>(~pretranslation::uncertain);
  // What was written meanwhile may still be here.
  --reads_accepted_;
  if (writes_ > 0 && forward_from_wpq(request, pending.device, now)) {
    --reads_;
    wake_next(false, now, sink);
    return;
  }
  ++reads_accepted_;
  if (request.marks == 0) {
    send_read(request, pending.device, now + config_.request);
  } else {
    send_marked(request, pending.device, now + config_.request);
  }
}

}  // namespace nearfar::sim::imc
