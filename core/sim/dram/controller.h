#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/slab.h"
#include "sim/dram/channel.h"
#include "sim/dram/channel_counters.h"
#include "sim/dram/completion_queue.h"
#include "sim/dram/controller_state.h"
#include "sim/dram/cycle_reference.h"
#include "sim/dram/device_timing.h"
#include "sim/dram/energy.h"
#include "sim/dram/mapping.h"
#include "sim/dram/power_times.h"
#include "sim/dram/selector.h"
#include "sim/dram/waiting_ports.h"

namespace nearfar::sim::dram {

/// What stands behind Channel: admits requests, carries out the commands that the scheduling
/// rules choose, and tells the results.
///
/// Commands up to the time of a call are carried out before anything else happens in it, so
/// a decision never depends on when it was looked at. The next command is always known; it
/// stays right until a request arrives or the command goes out.
class Channel::Controller {
 public:
  Controller(const Config& config, std::uint8_t channel_index, CommandLog* log, Mode mode);

  Accept try_send(const Request& request, Tick now);
  Tick send(const Request& request, Tick now, Sink& sink);
  [[nodiscard]] Tick next_event() const;
  void advance(Tick until, Sink& sink);
  Tick advance_to_completion(Tick until, Sink& sink);
  [[nodiscard]] bool idle() const;
  void settle(Tick now) {
    run_until(now);
    settled_ = now;
  }
  [[nodiscard]] Energy energy() const { return energy_ ? energy_->of(activity()) : Energy{}; }
  void register_counters(Counters& counters, const std::string& prefix) const;
  void state(Archive& archive);

 private:
  using Entry = RequestQueue::Entry;

  /// A write merged into a queued one that wants to know when it reaches the media.
  struct Merged {
    std::uint64_t id = 0;
    Address address;
    DataHandle data = 0;
    std::uint32_t next = 0;

    void state(Archive& archive) { archive(id, address, data, next); }
  };

  // Admission (controller_admit.cpp).
  /// A read that finds no write, no slot held and a place is queued, and that is all.
  [[nodiscard]] bool is_plain_read(const Request& request) const {
    return request.address < mapping_.plain_below() && request.op == Op::read && !slots_held() &&
           state_.queue(Direction::write).empty() && !state_.queue(Direction::read).full();
  }
  [[nodiscard]] bool needs_place(const Request& request, const Location& at) const;
  Tick send_rest(const Request& request, Tick now, Sink& sink);
  Accept admit_late(const Request& request, Tick now);
  Accept admit(const Request& request, Tick now);
  Accept admit_write(const Request& request, const Location& at, Tick now);
  Accept queue_read(const Request& request, const Location& at, Tick now);
  Accept read_arrived(const Entry& entry, Selector::Change change);
  void woke_up(const Entry& arrived);
  void reconsider(Direction d, const Entry& arrived, Selector::Change change);
  Accept forward(const Request& request, Tick now);
  Accept merge(Entry& queued, const Request& request, Tick now);
  void tell_accepted(const Request& request, Tick now);
  Accept refuse(Direction d, const Request& request, Tick now);
  void slot_freed(Direction d, Cycle cycle) {
    if (!waiting(d).none_waiting()) [[unlikely]]
      wake_next(d, cycle);
  }
  void wake_next(Direction d, Cycle cycle);
  void lapse_holds(Cycle cycle);

  // Carrying out commands (controller_issue.cpp).
  void run_commands(Tick until);
  Tick advance_to_any_completion(Tick until, Sink& sink);
  Tick run_until_place(Direction d, Sink& sink);
  void run_next(Tick until);
  template <Direction d>
  void run_column();
  template <Direction d>
  void run_row();
  void carry_out_plan();
  void run_every_cycle(Cycle last);
  template <Direction d>
  void issue_requested(Command command, Entry& entry, Cycle cycle);
  template <Command command>
  void issue(const Entry& entry, Cycle cycle);
  template <Command command>
  void issue_elsewhere(const Entry& entry, Cycle cycle);
  void observe(Command command, const Location& at, std::uint32_t column, Cycle cycle);
  template <Direction d, Command command>
  void issue_row(Entry& entry, Cycle cycle);
  template <Direction d>
  void issue_column(Entry& entry, Cycle cycle, Tick now);
  template <Direction d>
  void finish(Entry& entry, Cycle cycle, Tick now);
  void tell_media(const Entry& entry, Tick time);
  void unblock_writes(Address address, std::uint32_t bank);
  void row_closed(std::uint32_t bank);
  void issue_for_rank(Command command, const Location& at, Cycle cycle);

  // What it took (controller_energy.cpp).
  void rank_activated(std::uint32_t rank, Cycle cycle);
  void rank_precharged(std::uint32_t rank, Cycle cycle);
  void row_auto_precharged(std::uint32_t rank, Cycle closes, Cycle cycle);
  void account(Command command, std::uint32_t rank, Cycle cycle);
  [[nodiscard]] Tick rows_open(Tick now) const;
  [[nodiscard]] Tick accounted() const;
  [[nodiscard]] Activity activity() const;
  /// The auto-precharge of a column command at `cycle` begins.
  template <Direction d>
  [[nodiscard]] Cycle closes_at(std::uint32_t bank, Cycle cycle) const;

  // Finding the next command (controller.cpp).
  Tick advance_by_events(Tick until, Sink& sink);
  /// Tells what is due first, if that is by `until`; returns the time reached.
  Tick tell_next(Tick until, Sink& sink) {
    const Tick told = completions_.next();
    if (told > until || told.is_never()) return until;
    completions_.deliver_next(sink);
    return told;
  }
  void run_until(Tick until) {
    if (next_time_ <= until) run_commands(until);
    if (slots_held()) [[unlikely]]
      lapse_holds(cycle_of(until));
  }
  void plan_rank(std::uint32_t rank, Cycle from);
  /// The last request for the rank has left the queues.
  void rank_served(std::uint32_t rank, Cycle cycle) {
    state_.ranks[rank].idle_since = cycle;
    if (!rests_until_due(rank)) rank_emptied(rank, cycle + 1);
  }
  void rank_emptied(std::uint32_t rank, Cycle from);
  /// Without power management nothing is wanted of a rank before a refresh is due; enough if
  /// that is looked into then.
  [[nodiscard]] bool rests_until_due(std::uint32_t rank) const {
    return !powers_down_ && plans_[rank].cycle <= state_.ranks[rank].first_due;
  }
  void find_next_plan(Cycle from);
  void choose_next(Cycle from);
  [[gnu::always_inline]] void set_next(const Choice& choice, Cycle from) {
    if (choice.cycle < next_plan_cycle_) {
      set_next(choice);
    } else {
      set_next_plan(from);
    }
  }
  [[gnu::always_inline]] void set_next(const Choice& choice) {
    set_next_column(choice.direction, choice);
    if (selector_.kind(choice.direction, choice.bank) != Selector::column) next_ = Next::row;
  }
  void set_next_column(Direction d, const Choice& choice) {
    next_choice_.cycle = choice.cycle;
    next_choice_.bank = choice.bank;
    next_choice_.direction = d;
    next_ = d == Direction::read ? Next::read : Next::write;
    next_time_ = time_of(choice.cycle);
  }
  void set_next_plan(Cycle from);
  bool skip_idle(Cycle until);
  void shift(Cycle cycles);

  [[nodiscard]] Tick time_of(Cycle cycle) const { return config_.clock * cycle; }
  [[nodiscard]] Cycle cycle_of(Tick time) const { return time / config_.clock; }
  [[nodiscard]] std::uint32_t requests() const {
    return state_.queue(Direction::read).size() + state_.queue(Direction::write).size();
  }
  [[nodiscard]] bool no_requests() const { return requests() == 0; }
  [[nodiscard]] Tick row_delay() const;
  [[nodiscard]] bool ports_wait() const {
    return !waiting_[0].none_waiting() || !waiting_[1].none_waiting();
  }
  [[nodiscard]] bool slots_held() const { return next_lapse_ != never; }
  bool enter(Direction d, std::uint16_t port) {
    const std::uint32_t free = state_.queue(d).free();
    if (!slots_held()) return free > 0;
    const bool may = waiting(d).take(port, free);
    find_next_lapse();
    return may;
  }
  bool release(Direction d, std::uint16_t port) {
    const bool held = waiting(d).release(port);
    find_next_lapse();
    return held;
  }
  void find_next_lapse() {
    next_lapse_ = std::min(waiting_[0].next_lapse(), waiting_[1].next_lapse());
  }
  WaitingPorts& waiting(Direction d) { return waiting_[static_cast<unsigned>(d)]; }

  Config config_;
  AddressMapping mapping_;
  std::uint8_t channel_index_;
  CommandLog* log_;
  bool powers_down_;  ///< ranks go to power-down or self-refresh
  bool observed_;     ///< commands are logged, or checked cycle by cycle
  bool plain_;        ///< they are not, and DDR4's: what the two loops are made for
  Tick read_burst_;           ///< from a column command to its burst's end
  Tick write_burst_;
  Tick shortest_burst_;       ///< from a column command to its burst's end, at least
  std::uint64_t rank_banks_;  ///< a bit for each bank of rank 0

  ControllerState state_;
  DeviceTiming timing_;
  Selector selector_;
  std::unique_ptr<CycleReference> reference_;  ///< in Mode::every_cycle
  Cycle cycle_ = 0;                            ///< the last one evaluated in that mode

  std::array<RankRules::Plan, 4> plans_;
  std::uint32_t next_plan_ = 0;  ///< the rank whose plan comes first, the lowest of equals
  Cycle next_plan_cycle_ = never;  ///< its
  std::uint64_t available_ = 0;  ///< banks of ranks that take requests, one bit each

  // What happens next: a request's command, unless a rank's plan comes no later.
  Tick next_time_ = Tick::never();
  enum class Next : std::uint8_t { plan, row, read, write } next_ = Next::plan;
  Choice next_choice_;

  std::array<WaitingPorts, 2> waiting_;
  Cycle next_lapse_ = never;  ///< when the first slot held for a port is given up
  Slab<Merged> merged_;
  CompletionQueue completions_;
  std::uint64_t arrivals_ = 0;
  std::array<Cycle, 4> low_power_since_{};
  ChannelCounters counters_;
  std::array<PowerTimes, 4> power_times_;  ///< by rank
  /// Of all rows ever opened, closings less openings, modulo 2^64; standby alone counts.
  std::uint64_t row_cycles_ = 0;
  Tick settled_;                           ///< up to when sums over time are asked for
  std::optional<EnergyModel> energy_;
};

}  // namespace nearfar::sim::dram
