#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/archive.h"
#include "base/fifo.h"
#include "base/tick.h"

namespace nearfar {

/// An event queue for events of a few kinds, each of which is pushed in time order: a first-in
/// first-out lane a kind, and no heap. Events come out by time, and equal times in the order in
/// which they were pushed, so it says what an EventQueue would.
///
/// A lane can be asleep: its events are kept, but are not due until it wakes.
template <typename Payload, std::size_t lanes>
class EventLanes {
  static_assert(lanes <= 32);

 public:
  struct Due {
    std::size_t lane;
    Payload payload;
  };

  /// When the first event is due; Tick::never() if none is.
  [[nodiscard]] Tick next() const { return next_; }

  /// `time` is not before that of the lane's last event.
  void push(std::size_t lane, Tick time, Payload payload) {
    const Entry entry{time, sequence_++, payload};
    if (entries_[lane].empty() && awake_[lane]) set_head(lane, entry);
    entries_[lane].push(entry);
  }

  /// The first event that is due, of which there must be one.
  Due pop() {
    const std::size_t lane = first_;
    const Payload payload = entries_[lane].front().payload;
    drop(lane);
    return {lane, payload};
  }

  void wake(std::size_t lane) {
    if (awake_[lane]) return;
    awake_[lane] = true;
    if (!entries_[lane].empty()) set_head(lane, entries_[lane].front());
  }

  void sleep(std::size_t lane) {
    awake_[lane] = false;
    no_head(lane);
  }

  /// Takes events up to and including `until` from a lane, due or not; how many there were.
  std::uint32_t take(std::size_t lane, Tick until) {
    std::uint32_t taken = 0;
    for (; !entries_[lane].empty() && entries_[lane].front().time <= until; ++taken) drop(lane);
    return taken;
  }

  void state(Archive& archive) {
    archive(entries_, heads_, awake_, due_, first_, next_, sequence_);
  }

 private:
  struct Entry {
    Tick time;
    std::uint64_t sequence = 0;
    [[no_unique_address]] Payload payload{};

    void state(Archive& archive) { archive(time, sequence, payload); }
  };
  struct Head {
    Tick time = Tick::never();
    std::uint64_t sequence = 0;

    [[nodiscard]] bool before(const Head& other) const {
      return time != other.time ? time < other.time : sequence < other.sequence;
    }
  };

  void set_head(std::size_t lane, const Entry& entry) {
    heads_[lane] = {entry.time, entry.sequence};
    due_ |= std::uint32_t{1} << lane;
    if (heads_[lane].before(heads_[first_])) first_ = lane;
    next_ = heads_[first_].time;
  }

  void no_head(std::size_t lane) {
    heads_[lane] = {};
    due_ &= ~(std::uint32_t{1} << lane);
    find_first();
  }

  void drop(std::size_t lane) {
    entries_[lane].pop();
    if (!awake_[lane]) return;
    if (entries_[lane].empty()) return no_head(lane);
    heads_[lane] = {entries_[lane].front().time, entries_[lane].front().sequence};
    find_first();
  }

  /// Few lanes are due at a time; when none is, any will do.
  void find_first() {
    next_ = Tick::never();
    if (due_ == 0) return;
    auto first = static_cast<std::size_t>(std::countr_zero(due_));
    for (std::uint32_t others = due_ & (due_ - 1); others != 0; others &= others - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(others));
      if (heads_[lane].before(heads_[first])) first = lane;
    }
    first_ = first;
    next_ = heads_[first].time;
  }

  [[nodiscard]] static constexpr std::array<bool, lanes> all_awake() {
    std::array<bool, lanes> awake{};
    awake.fill(true);
    return awake;
  }

  std::array<Fifo<Entry>, lanes> entries_;
  std::array<Head, lanes> heads_;  ///< of lanes that are awake
  std::array<bool, lanes> awake_ = all_awake();
  std::uint32_t due_ = 0;       ///< lanes that have a head, one bit each
  std::size_t first_ = 0;
  Tick next_ = Tick::never();  ///< the first head's
  std::uint64_t sequence_ = 0;
};

}  // namespace nearfar
