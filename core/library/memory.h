#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/counters.h"
#include "base/error.h"
#include "base/settings.h"
#include "library/recorder.h"
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
  [[gnu::always_inline]] bool send(const sim::Request& request, Tick now) {
    check(request, now);
    if (now != now_) play(now);
    if (waiting_.any()) [[unlikely]]
      check_woken(request.port);
    if (!device_->try_send(request, now).accepted) [[unlikely]] {
      waiting_.refuse(request.port);
      return false;
    }
    accepted(request, now);
    return true;
  }
  /// Sends as soon as the memory takes it; now() is then when that was. For a host that has nothing
  /// else to send until then, and no port that waits. Throws Misuse.
  void send_when_free(const sim::Request& request, Tick now);
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
  [[nodiscard]] std::uint64_t unfinished() const {
    return accepted_[0] + accepted_[1] + notices_ - told_;
  }
  /// Reads and writes, since the beginning.
  [[nodiscard]] std::array<std::uint64_t, 2> accepted() const { return accepted_; }
  /// From when the first request was accepted to the last completion.
  [[nodiscard]] Tick elapsed() const { return last_told_ - min(first_, last_told_); }

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

  /// Every request that is accepted from now on is told; null: none any more.
  void record(std::unique_ptr<Recorder> recorder);
  /// What has been told so far is in the recorder's file.
  void flush_record() {
    if (recorder_) recorder_->flush();
  }

  /// All of it but the recorder, for a memory that was made from the same settings.
  void state(Archive& archive);
  /// Goes on as `other`, and records as before.
  void become(Memory other);

 private:
  void check_time(Tick time) const {
    if (time < now_ || time > last) [[unlikely]]
      bad_time(time);
  }
  void check(const sim::Request& request, Tick now) const {
    check_time(now);
    const std::uint64_t address = request.address.value();
    if (address >= capacity_ || address % line_bytes != 0) [[unlikely]]
      bad_address(request.address);
  }
  [[gnu::always_inline]] void accepted(const sim::Request& request, Tick now) {
    ++accepted_[request.op == sim::Op::write];
    if (request.tell_media) notices_ += request.op == sim::Op::write;
    if (watched_) [[unlikely]]
      note(request, now);
  }
  void check_woken(std::uint16_t port) const;
  [[noreturn]] void bad_time(Tick time) const;
  [[noreturn]] void bad_address(Address address) const;
  void play(Tick until);
  /// Whether anything may have come.
  [[gnu::always_inline]] bool play_to_completion(Tick until) {
    if (!until.is_never()) {
      check_time(until);
    } else if (unfinished() == 0 && !waiting_.any()) {
      return false;
    }
    const Tick reached = device_->advance_to_completion(until, sink_);
    if (!reached.is_never()) now_ = max(now_, reached);
    return true;
  }
  void look_at(const sim::Completion& completion) {
    if (completion.kind == sim::Completion::Kind::wake) [[unlikely]] {
      waiting_.wake(completion.id);
    } else {
      ++told_;
      last_told_ = completion.time;
    }
  }
  void look_at_new();
  template <typename Take>
  std::size_t take_some(std::size_t room, Take take);
  void note(const sim::Request& request, Tick now);

  std::unique_ptr<sim::Device> device_;
  Bytes capacity_;
  Tick now_;
  std::array<std::uint64_t, 2> accepted_{};  ///< reads, writes
  std::uint64_t notices_ = 0;  ///< of the media, that writes asked for
  std::uint64_t told_ = 0;  ///< completions and those
  Tick first_;  ///< when the first request was accepted
  Tick last_told_;  ///< when the last completion came
  bool watched_ = true;  ///< none was accepted yet, or what is accepted is recorded
  Waiting waiting_;
  sim::Sink sink_;
  std::size_t taken_ = 0;  ///< of the sink
  std::size_t seen_ = 0;  ///< of the sink, by look_at_new()
  Counters counters_;
  std::vector<std::string> counter_names_;
  std::unique_ptr<Recorder> recorder_;
};

template <typename Take>
std::size_t Memory::wait(Tick until, std::size_t room, Take take) {
  if (!sink_.empty()) return take_some(room, take);
  if (!play_to_completion(until)) return 0;
  if (sink_.size() > room) [[unlikely]] {
    look_at_new();
    return take_some(room, take);
  }
  for (const sim::Completion& completion : std::as_const(sink_)) {
    take(completion);
    look_at(completion);
  }
  const std::size_t count = sink_.size();
  sink_.clear();
  return count;
}

template <typename Take>
[[gnu::noinline]] std::size_t Memory::take_some(std::size_t room, Take take) {
  const auto waiting = completions().first(std::min(room, sink_.size() - taken_));
  for (const sim::Completion& completion : waiting) take(completion);
  this->take(waiting.size());
  return waiting.size();
}

}  // namespace nearfar::library
