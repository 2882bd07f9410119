#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.h"
#include "base/counters.h"
#include "base/error.h"
#include "base/settings.h"
#include "library/waiting.h"
#include "sim/device.h"

namespace nearfar::library {

/// A call that a host may not make. The memory is as it was before.
class Misuse : public InputError {
 public:
  enum class Kind : std::uint8_t { argument, capacity, time, not_woken };

  Misuse(Kind kind, const std::string& text) : InputError(text), kind_(kind) {}
  [[nodiscard]] Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

/// A device for hosts that nearfar does not know: it checks every call, plays what is due before a
/// request enters, keeps completions until they are taken, and tells a host with nothing in flight
/// that nothing will happen, whatever the memory does by itself.
class Memory {
 public:
  /// The last time that a call takes: no sum of it and a wait in the memory overflows.
  static constexpr Tick last{Tick::never().ps() / 2};

  /// Throws InputError when `settings` do not make a memory.
  explicit Memory(const Settings& settings);

  /// As sim::Device's, at `now`, which becomes the present: false is a refusal. Throws Misuse.
  bool send(const sim::Request& request, Tick now);
  void fence(Tick now);

  /// Plays everything up to and including `until`. Throws Misuse.
  void advance(Tick until);
  /// Stops after the first instant that gave something. Tick::never() is no limit: then no time
  /// passes when nothing will come. Throws Misuse.
  void advance_to_completion(Tick until);

  [[nodiscard]] Tick now() const { return now_; }
  /// As advance_to_completion(), and takes up to `room` of what has come, calling
  /// `take(completion)`; returns how many. Only when completions were taken before does time pass.
  template <typename Take>
  std::size_t wait(Tick until, std::size_t room, Take take);

  /// When advance() can give something: the present while completions are there to be taken.
  [[nodiscard]] Tick next_event() const;
  [[nodiscard]] Bytes capacity() const { return capacity_; }
  /// Requests that were accepted and are not completed.
  [[nodiscard]] std::uint64_t unfinished() const { return unfinished_; }

  /// The completions and wakes that have not been taken, in time order.
  [[nodiscard]] std::span<const sim::Completion> completions() const {
    return {sink_.begin() + static_cast<std::ptrdiff_t>(taken_), sink_.size() - taken_};
  }
  /// Drops the first `count` of them.
  void take(std::size_t count) {
    taken_ += count;
    if (taken_ != sink_.size()) return;
    sink_.clear();
    taken_ = seen_ = 0;
  }

  [[nodiscard]] const std::vector<std::string>& counter_names() const { return counter_names_; }
  /// Every statistic up to the present, in the order of their names.
  [[nodiscard]] std::vector<Counters::Reading> read_counters();

  /// All of it, for a memory that was made from the same settings.
  void state(Archive& archive);

 private:
  void check_time(Tick time) const;
  void check(const sim::Request& request, Tick now) const;
  void play(Tick until);
  /// Whether anything may have come.
  bool play_to_completion(Tick until);
  void look_at(const sim::Completion& completion) {
    if (completion.kind == sim::Completion::Kind::wake) {
      waiting_.wake(completion.id);
    } else {
      --unfinished_;
    }
  }
  void look_at_new();

  std::unique_ptr<sim::Device> device_;
  Bytes capacity_;
  Tick now_;
  std::uint64_t unfinished_ = 0;  ///< with one more for each write that is to tell of the media
  Waiting waiting_;
  sim::Sink sink_;
  std::size_t taken_ = 0;  ///< of the sink
  std::size_t seen_ = 0;   ///< of the sink, by look_at_new()
  Counters counters_;
  std::vector<std::string> counter_names_;
};

template <typename Take>
std::size_t Memory::wait(Tick until, std::size_t room, Take take) {
  if (sink_.empty() && !play_to_completion(until)) return 0;
  const std::size_t count = room < sink_.size() - taken_ ? room : sink_.size() - taken_;
  for (std::size_t i = 0; i < count; ++i) take(sink_[taken_ + i]);
  if (count == sink_.size()) [[likely]] {
    for (; seen_ != count; ++seen_) look_at(sink_[seen_]);
    sink_.clear();
    seen_ = 0;
  } else {
    look_at_new();
    this->take(count);
  }
  return count;
}

}  // namespace nearfar::library
