#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/address.h"
#include "base/archive.h"
#include "base/counters.h"
#include "base/tick.h"
#include "base/timed_fifo.h"
#include "sim/request.h"
#include "sim/sink.h"

namespace nearfar::sim {

/// Later than every event, earlier than Tick::never(), at which an idle device "has its next
/// event": "until never" means as long as there is something to do.
inline constexpr Tick last_instant = Tick::never() - Tick(1);

/// Offers a line until `memory` takes it, which others must not fill meanwhile: at `now`, and after
/// a refusal at the wakes of its port. Returns when it was taken, and puts what was told up to then
/// into the sink; Tick::never() when nothing is left in the memory that could wake the port.
template <typename Memory>
[[gnu::noinline]] Tick send_at_wakes(Memory& memory, const Request& request, Tick now, Sink& sink) {
  std::size_t seen = sink.size();
  while (!memory.try_send(request, now).accepted) {
    for (bool woken = false; !woken;) {
      const Tick reached = memory.advance_to_completion(last_instant, sink);
      if (seen == sink.size()) return Tick::never();
      now = max(now, reached);
      for (; seen != sink.size(); ++seen) {
        const Completion& told = sink[seen];
        woken |= told.kind == Completion::Kind::wake && told.id == request.port;
      }
    }
  }
  return now;
}

/// Any memory that answers line requests: what drivers (replay, streams, cores) are
/// written against, and what a whole machine is to them.
///
/// Time only moves forward: the `now` of try_send and the `until` of advance never
/// decrease. A driver alternates: send what is due, then advance to the earlier of its
/// own next send and `next_event()`.
class Device {
 public:
  virtual ~Device() = default;

  /// Offers one line. A refusal leaves no trace but the port's place in the queue of
  /// waiting ports, and is always followed by the port's wake (Completion::Kind::wake)
  /// when it may offer again; before `retry_at` there is no point in asking.
  virtual Accept try_send(const Request& request, Tick now) = 0;

  /// The earliest time at which anything can happen inside without a further request;
  /// Tick::never() when nothing will.
  [[nodiscard]] virtual Tick next_event() const = 0;

  /// Plays all events up to and including `until` and appends, in time order, the
  /// completions and wakes whose time has come by then.
  virtual void advance(Tick until, Sink& sink) = 0;

  /// As advance(), but stops after the first instant that put something into the sink: what
  /// a driver calls that has nothing to do until then. Returns the instant it has reached,
  /// which is `until` when nothing came.
  [[gnu::noinline]] virtual Tick advance_to_completion(Tick until, Sink& sink) {
    const std::size_t before = sink.size();
    while (true) {
      const Tick next = next_event();
      if (next.is_never() || next > until) return until;
      advance(next, sink);
      if (sink.size() != before) return next;
    }
  }

  /// Sends a line as soon as the device takes it: what a driver calls that has nothing else to send
  /// until then. As send_at_wakes(), but that the wakes may be left out.
  virtual Tick send(const Request& request, Tick now, Sink& sink) {
    return send_at_wakes(*this, request, now, sink);
  }

  /// Whether try_send() plays all that comes before its `now`, so that several requests may be
  /// sent, each in its time, before an advance() tells of what happened meanwhile.
  [[nodiscard]] virtual bool takes_early() const { return false; }

  /// Sends requests that arrive one after the other, each in its time, by the port of its queue and
  /// direction (port_of()), until one is refused. Returns how many were taken. Ports are written
  /// into the requests; the addresses of those taken may be lost. Only a device that takes_early()
  /// does this.
  virtual std::size_t try_send_all(std::span<Timed<Request>>) { return 0; }

  /// Addresses run from 0 to capacity() - 1.
  [[nodiscard]] virtual Bytes capacity() const = 0;

  /// True when no accepted request is unfinished; background work (refresh, write-back
  /// of data that is already persistent) may still have events.
  [[nodiscard]] virtual bool idle() const = 0;

  /// A core has executed an mfence: everything it stored before has been accepted. Takes no
  /// time; queues that are said to drain on a fence begin to.
  virtual void fence(Tick) {}

  /// The translation by which an uncertain read was sent is known at `now`. If it was right the
  /// read goes on; if not the read is given up and never completes. `request` is as it was sent.
  virtual void resolve(const Request&, bool /*right*/, Tick) {}

  /// Tells the memory that holds the pointer at `pointer` which frame it leads to; leaves the
  /// controller at `at`. A hint: nothing completes, and a device that has no use for it drops it.
  virtual void learn(Address /*pointer*/, std::uint64_t /*frame*/, Tick /*at*/) {}

  /// Queues of the device, each of which refuses for itself, have numbers below this: as many as
  /// there are channels, say.
  [[nodiscard]] virtual std::uint32_t queues() const { return 1; }

  /// Which of them takes the line.
  [[nodiscard]] virtual std::uint32_t queue_of(Address) const { return 0; }

  /// Brings statistics that are sums over time (standby energy) up to `now`, to which the
  /// device has been advanced.
  virtual void settle(Tick) {}

  /// The data that a loss of power at the last instant played would leave of a line: what the
  /// persistence domain took last, wherever it lies; 0 when nothing was written with data, or
  /// when memory is volatile. Costs no simulated time.
  [[nodiscard]] virtual DataHandle durable(Address) const { return 0; }

  /// What wear-levelling moves as one.
  struct WearBlock {
    std::uint64_t number = 0;  ///< no other one of the device has it
    std::uint64_t moves = 0;  ///< so far, or since forget_moves()
  };
  /// The one that holds a line; one that never moves where there is no wear-levelling.
  [[nodiscard]] virtual WearBlock wear_block(Address) const { return {}; }
  virtual void forget_moves() {}
  /// Everything that is under way, held or counted: what an archive reads goes on, bit for bit, as
  /// the device it was written from, which is of the same model. A device that cannot do this
  /// throws InputError.
  virtual void state(Archive&) { throw InputError("state: this kind of memory has none to save"); }

  /// Adds every statistic of the device; they stay valid as long as the device does.
  virtual void register_counters(Counters& counters) const = 0;
};

/// The port of requests that wait apart by queue and by direction.
[[nodiscard]] constexpr std::uint16_t port_of(std::uint32_t queue, Op op) {
  return static_cast<std::uint16_t>(2 * queue + (op == Op::write ? 1 : 0));
}

/// Ends a run at `now`, when no caller waits for anything any more: what the device does by
/// itself until then is played, and its statistics are settled.
inline void settle_at(Device& device, Tick now) {
  Sink unread;
  device.advance(now, unread);
  device.settle(now);
}

}  // namespace nearfar::sim
