#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/event_lanes.h"
#include "base/fifo.h"
#include "base/slab.h"
#include "base/timed_fifo.h"
#include "sim/device.h"
#include "sim/link/config.h"
#include "sim/link/directory.h"
#include "sim/outlet.h"
#include "sim/waiting_ports.h"

namespace nearfar::sim::link {

/// Any memory behind a link: a CXL expander, or the memory of another socket.
///
/// A request needs a credit, one a place in the device's port, and the request direction for
/// its slots; the port hands requests on to the memory in order of arrival, reads and writes
/// apart and those of each of the memory's queues apart. The credit comes back when the memory
/// has taken the request, with the response latency. Answers share the response direction in
/// the order in which the memory gives them.
///
/// A write completes when the acknowledgement of the device has come back: what the caller
/// then knows is that it lies in the device's ADR domain. Notices that a write has reached the
/// media are not messages; they are told when it happens.
///
/// Nothing that the memory does can be heard here before the response latency has passed. So it is
/// let fall behind by up to that, and then plays many requests in one go (link_behind.cpp), unless
/// something has to be heard at once: a media notice, a credit that a port waits for.
///
/// Behind the way to another socket may be a home agent, which keeps a Directory in the memory
/// (link_home.cpp). A line that is read and was at home is written with its new state; its reader
/// is answered `directory_latency` later than others. Writing it back brings it home. A credit is a
/// place in the home agent, and comes back when the memory has taken all that the request entails.
class Link final : public Device {
 public:
  /// With `observed` the memory never falls behind: its commands are watched in the order in which
  /// it plays them.
  Link(const Config& config, std::unique_ptr<Device> memory, bool observed = false);

  Accept try_send(const Request& request, Tick now) override;
  [[nodiscard]] Tick next_event() const override {
    if (at_once()) return min(next_message(), memory_->next_event());
    return min(answers_.next(), unheard(next_at_memory()));
  }
  void advance(Tick until, Sink& sink) override;
  Tick advance_to_completion(Tick until, Sink& sink) override;
  /// An mfence's message reaches the memory after the request latency.
  void fence(Tick now) override;
  [[nodiscard]] Bytes capacity() const override { return memory_->capacity(); }
  [[nodiscard]] bool idle() const override { return flights_.in_use() == 0 && memory_->idle(); }
  /// The link has one queue a direction of data, whatever lies behind it.
  [[nodiscard]] std::uint32_t queue_of(Address) const override { return 0; }
  void settle(Tick now) override {
    catch_up();
    memory_->settle(now);
    settled_ = now;
  }
  /// What is still on the link is lost.
  [[nodiscard]] DataHandle durable(Address line) const override { return memory_->durable(line); }
  void register_counters(Counters& counters) const override;
  void state(Archive& archive) override;

 private:
  using Index = std::uint32_t;

  /// What happens on the link besides requests that arrive and answers, which are most of it: each
  /// kind in time order. Those of reads and writes lie side by side, as in credit + write.
  enum Lane : std::size_t { credit = 0, hold_lapsed = 2, state_kept = 4, lanes = 5 };
  struct Nothing {};
  /// What the home agent does for a request.
  enum class Step : std::uint8_t { on_the_way, its_turn, arrived, fetching, recording, writing };
  struct Flight {
    std::uint64_t id = 0;  ///< the caller's
    Address address;
    Tick sent{};
    DataHandle data = 0;  ///< the answer's; in the home agent the request's until then
    std::uint16_t parts = 1;  ///< completions still to come, and what the home agent still does
    Op op = Op::read;
    bool tell_media = false;
    // Of requests in the home agent.
    Step step = Step::on_the_way;
    Index next = Directory::none;  ///< the request after this one

    void state(Archive& archive) {
      archive(id, address, sent, data, parts, op, tell_media, step, next);
    }
  };
  /// What reads and writes have each for themselves: the cost of their messages, credits and
  /// callers that found none; and where they are on their way out.
  struct Way {
    std::uint64_t request_slots = 0;
    std::uint64_t response_slots = 0;
    Tick request_time{};  ///< what a request's slots take of the bus
    Tick response_time{};  ///< and what its answer's do
    Tick latency{};  ///< of an empty link, until the request is at the memory
    std::uint32_t free = 0;  ///< credits, but for those that collect_credits() finds
    WaitingPorts waiting;
    TimedFifo<Request>* arrivals = nullptr;
    std::uint64_t sent = 0;
    std::uint64_t answered = 0;  ///< by the memory

    void state(Archive& archive) { archive(free, waiting, sent, answered); }
  };

  template <bool write>
  Accept try_send(const Request& request, Tick now);
  Accept try_send_any(const Request& request, Tick now);
  template <bool write>
  Index enter(const Request& request, Tick now);
  Tick advance_to_any_completion(Tick until, Sink& sink);
  [[nodiscard]] bool may_enter(const Request& request, Tick now);
  void collect_credits(bool write);
  void wake_waiting(bool write, Tick now, Sink& sink);
  Tick run_at_once(Tick until, Sink& sink, bool to_completion);
  void from_memory(Sink& sink);
  [[gnu::always_inline]] void hear(const Completion& completion) {
    if (completion.kind == Completion::Kind::wake || directory_) [[unlikely]] {
      return hear_more(completion);
    }
    answer(static_cast<Index>(completion.id), completion.data, completion.time);
  }
  void hear_more(const Completion& completion);
  void arrive(Tick now);
  [[gnu::always_inline]] void tell_answers(Tick now, Sink& sink) {
    do {
      tell_answer(now, sink);
    } while (answers_.next() == now);
  }
  [[gnu::always_inline]] void tell_answer(Tick now, Sink& sink) {
    const Index index = answers_.pop();
    time_ps_ += (now - flights_[index].sent).ps();
    finish(index, now, Completion::Kind::done, sink);
  }
  /// The first request or fence that arrives.
  [[nodiscard]] Tick next_arrival() const {
    return min(min(arrivals_[0].next(), arrivals_[1].next()), fences_.next());
  }
  /// What happens first on the link.
  [[nodiscard]] Tick next_message() const {
    return min(min(next_arrival(), answers_.next()), events_.next());
  }
  void handle(std::size_t lane, Tick now, Sink& sink);
  void offer(Request request, Tick now);
  void offer_all(Tick end);
  /// The memory has the request: its place in the port is free. One in the home agent stays taken.
  void taken(Op op, Tick now) {
    if (!directory_) return_credit(op, now);
  }
  void return_credit(Op op, Tick now) {
    const Tick time = now + config_.response_latency;
    if (op == Op::write) {
      events_.push(credit + 1, time, {});
    } else {
      events_.push(credit, time, {});
    }
  }
  [[gnu::always_inline]] void answer(Index index, DataHandle data, Tick now) {
    Flight& flight = flights_[index];
    flight.data = data;
    Way& way = flight.op == Op::write ? ways_[1] : ways_[0];
    ++way.answered;
    response_free_ = max(response_free_, now) + way.response_time;
    answers_.push(response_free_ + config_.response_latency, index);
  }
  [[gnu::always_inline]] void finish(Index index, Tick now, Completion::Kind kind, Sink& sink) {
    const Flight& flight = flights_[index];
    const DataHandle data = kind == Completion::Kind::done ? flight.data : 0;
    sink.push_back({now, flight.id, flight.address, kind, data});
    part_over(index);
  }

  void part_over(Index index) {
    if (--flights_[index].parts == 0) flights_.give_back(index);
  }

  // A memory that has fallen behind (link_behind.cpp).
  Tick run_behind(Tick until, Sink& sink, bool to_completion);
  void play_memory(Tick to);
  void play_alone(Tick to);
  void play_and_resend(Tick to);
  void hear();
  void catch_up() {
    if (memory_at_ < played_) play_memory(played_);
  }
  /// Whether the memory may not fall behind now.
  [[nodiscard]] bool at_once() const {
    return always_at_once_ || notices_ > 0 || !events_.next().is_never() ||
           !ways_[0].waiting.empty() || !ways_[1].waiting.empty();
  }
  [[nodiscard]] Tick next_at_memory() const { return min(next_arrival(), memory_->next_event()); }
  /// Up to then nothing is heard of what the memory does at `time`.
  [[nodiscard]] Tick unheard(Tick time) const {
    return time.is_never() ? time : time + config_.response_latency - Tick(1);
  }

  // The home agent (link_home.cpp).
  void enter_home(Index index, DataHandle data);
  void arrive_home(Index index, Tick now);
  void start_home(Index index, Tick now);
  void go_on(Index index, DataHandle data, Tick now);
  void give_away(Index index, DataHandle data, Tick now);
  void leave_home(Index index, Tick now);
  void ask_memory(Index index, Step step, Op op, DataHandle data, Tick now);
  [[nodiscard]] std::uint64_t request_slots() const {
    return ways_[0].sent * ways_[0].request_slots + ways_[1].sent * ways_[1].request_slots;
  }
  [[nodiscard]] std::uint64_t response_slots() const {
    return ways_[0].answered * ways_[0].response_slots +
           ways_[1].answered * ways_[1].response_slots;
  }
  [[nodiscard]] std::uint64_t energy_pj() const;

  Config config_;
  std::unique_ptr<Device> memory_;
  Way ways_[2];  ///< of reads, of writes
  /// Requests on their way out: all, unless writes take longer; then these lie in the second.
  TimedFifo<Request> arrivals_[2];
  TimedFifo<Index> answers_;
  TimedFifo<Nothing> fences_;
  EventLanes<Nothing, lanes> events_;
  Tick played_{};  ///< everything on the link up to then has happened
  Tick memory_at_{};  ///< and everything in the memory before then
  Tick known_until_{};  ///< answers up to then are known, and nothing else will be told
  std::uint32_t notices_ = 0;  ///< from the media, that are to come
  bool always_at_once_;
  bool takes_early_;  ///< the memory plays what comes before a request as it gets it
  Slab<Flight> flights_;
  Tick request_free_{};
  Tick response_free_{};
  Outlet port_;  ///< of the device
  std::optional<Directory> directory_;
  Fifo<Index> given_away_;  ///< reads whose answers wait for `state_kept`
  Sink from_memory_;

  std::uint64_t refusals_ = 0;
  std::uint64_t directory_writes_ = 0;
  Tick settled_{};
  std::uint64_t time_ps_ = 0;  ///< of all finished requests, from sent to answered
};

}  // namespace nearfar::sim::link
