#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/counters.h"
#include "base/event_queue.h"
#include "base/settings.h"
#include "sim/nvdimm/dimm.h"
#include "sim/request.h"
#include "sim/sink.h"
#include "sim/waiting_ports.h"

namespace nearfar::sim::imc {

/// The memory controller's side of a DDR-T channel, and the bus itself.
struct DdrtConfig {
  std::uint32_t wpq_lines = 0;  ///< write pending queue; in the ADR domain
  std::uint32_t rpq_lines = 0;  ///< read pending queue
  Tick request{};               ///< a command's way to the DIMM
  Tick grant{};                 ///< from the DIMM's "data ready" to the data on the bus
  Tick line{};                  ///< bus occupancy of a line
  Tick turnaround{};            ///< between data of opposite directions
};

[[nodiscard]] DdrtConfig ddrt_config_from(const Settings& settings);

/// One memory channel with an Optane-class DIMM: pending queues, DDR-T bus, DIMM.
///
/// DDR-T is a request/grant protocol: the controller sends a read command, the DIMM says
/// when the data are ready, and only then is the bus granted. A write is complete for its
/// sender when the write pending queue has taken it: from there on it survives a loss of
/// power. The queue empties as the DIMM's load-store queue has room. A read that finds its
/// line in the write pending queue is answered from there.
///
/// A read that comes when nothing else is under way is held back until time moves on or
/// another request comes. Most such reads hit the DIMM's first buffer, and what becomes of them is
/// then known without an event; the others take the usual way, as if they had at once.
class DdrtChannel {
 public:
  DdrtChannel(const DdrtConfig& config, const nvdimm::Config& dimm, std::uint8_t channel,
              dram::CommandLog* log);

  /// `request` carries the caller's address, `device` the DIMM's.
  [[nodiscard]] Accept try_send(const Request& request, Address device, Tick now) {
    if (request.op == Op::write || !may_be_lone(now)) return admit(request, device, now);
    ++reads_accepted_;
    ++reads_;
    lone_.request = request;
    lone_.device = device;
    lone_arrives_ = now + config_.request;
    return Accept::yes();
  }
  void fence(Tick now) {
    send_lone();
    dimm_.fence(unsent_, now);
  }
  [[nodiscard]] Tick next_event() const { return min(next_but_lone(), lone_arrives_); }
  /// With `to_completion`, stops after the first instant that put something into the sink.
  /// Returns the instant reached.
  Tick advance(Tick until, Sink& sink, bool to_completion);
  [[nodiscard]] bool idle() const {
    return reads_ == 0 && pending_.in_use() == 0 && writes_ == 0 && !dimm_.notices_pending();
  }

  /// As Device's.
  void settle(Tick now) { dimm_.settle(now); }
  /// The data of a line that a loss of power would leave; `device` is the DIMM's address.
  [[nodiscard]] DataHandle durable(Address device) const;

  void register_counters(Counters& counters, const std::string& prefix) const;
  void state(Archive& archive);
  [[nodiscard]] const nvdimm::Dimm& dimm() const { return dimm_; }

 private:
  using Index = std::uint32_t;

  struct Event {
    enum class Kind : std::uint8_t { read_done, write_accepted, write_sent, hold_lapsed } kind;
    Index index;  ///< of what is pending; hold_lapsed: 1 for the write pending queue, else 0

    void state(Archive& archive) { archive(kind, index); }
  };
  struct Pending {
    Request request;
    Address device;
    bool holds_slot = false;  ///< of the read pending queue

    void state(Archive& archive) { archive(request, device, holds_slot); }
  };

  [[nodiscard]] Tick next_but_lone() const { return min(events_.next(), dimm_.next_event()); }
  [[nodiscard]] bool has_lone() const { return !lone_arrives_.is_never(); }
  [[nodiscard]] bool may_be_lone(Tick now) const {
    return reads_ == 0 && writes_ == 0 && reads_waiting_.empty() && reads_waiting_.held(now) == 0;
  }
  Accept admit(const Request& request, Address device, Tick now);
  void send_lone() {
    if (!has_lone()) return;
    send_read(lone_.request, lone_.device, std::exchange(lone_arrives_, Tick::never()));
  }
  void send_read(const Request& request, Address device, Tick arrives);
  Tick answer_lone(Tick until, Sink& sink);
  Tick play(Tick until, Sink& sink, bool to_completion);
  bool forward_from_wpq(const Request& request, Address device, Tick now);
  void send_writes(Tick now);
  [[nodiscard]] Tick bus_ready(bool write) const;
  Tick take_bus(bool write, Tick earliest);
  void occupy_bus(bool write, Tick start) {
    bus_used_ = true;
    bus_free_ = start + config_.line;
    bus_last_write_ = write;
    bus_busy_ps_ += config_.line.ps();
  }
  void handle(const Event& event, Tick now, Sink& sink);
  [[nodiscard]] std::uint32_t free_slots(bool write) const {
    return write ? config_.wpq_lines - writes_ : config_.rpq_lines - reads_;
  }
  void wake_next(bool write, Tick now, Sink& sink);
  void watch_hold(bool write, Tick now);

  DdrtConfig config_;
  nvdimm::Dimm dimm_;
  EventQueue<Event> events_;
  Slab<Pending> pending_;
  std::vector<Pending> wpq_;    ///< ring of wpq_lines, oldest at wpq_first_
  std::uint32_t wpq_first_ = 0;
  std::uint32_t writes_ = 0;    ///< in the write pending queue
  std::uint32_t unsent_ = 0;    ///< of those, not yet on the bus; they are the youngest
  std::uint32_t reads_ = 0;     ///< in the read pending queue
  Pending lone_;  ///< a read held back, one of reads_
  Tick lone_arrives_ = Tick::never();  ///< at the DIMM; never: there is none
  Tick bus_free_{};
  bool bus_used_ = false;
  bool bus_last_write_ = false;
  WaitingPorts reads_waiting_;
  WaitingPorts writes_waiting_;
  std::vector<nvdimm::Dimm::Reply> replies_;

  std::uint64_t reads_accepted_ = 0;
  std::uint64_t writes_accepted_ = 0;
  std::uint64_t wpq_forwards_ = 0;
  std::uint64_t refusals_ = 0;
  std::uint64_t bus_busy_ps_ = 0;
};

}  // namespace nearfar::sim::imc
