#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/event_queue.h"
#include "sim/device.h"

namespace nearfar::sim {

/// A memory simple enough to predict by hand: every request takes the same time, a fixed
/// number fit in, and refused ports are woken in the order they were refused, each with
/// the freed slot kept for it. It notes what it is asked and can be told to misbehave.
class MockDevice : public Device {
 public:
  struct Config {
    Tick latency{100'000};
    Tick media_latency{500'000};  ///< from acceptance of a write to its media event
    std::uint32_t slots = 1'000'000;
    Bytes capacity = Bytes{1} << 30;
    bool note_entries = true;
    /// The latency of the n-th request, from 0; empty: always `latency`.
    std::function<Tick(std::uint64_t)> latency_of{};
  };
  enum class Fault : std::uint8_t { none, lose, twice, other_address, other_id, early, never_wake };

  struct Entry {
    Tick time;
    Address address;
    Op op = Op::read;
    std::uint16_t port = 0;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  explicit MockDevice(const Config& config) : config_(config) {}
  MockDevice() = default;

  Accept try_send(const Request& request, Tick now) override {
    ++offers_;
    if (now < now_) time_went_back_ = true;
    now_ = now;
    const bool waits = std::find(waiting_.begin(), waiting_.end(), request.port) != waiting_.end();
    const auto kept = std::find(kept_for_.begin(), kept_for_.end(), request.port);
    if (waits) asked_unwoken_ = true;
    if (kept != kept_for_.end()) {
      kept_for_.erase(kept);
    } else if (in_use_ + kept_for_.size() >= config_.slots) {
      if (!waits) waiting_.push_back(request.port);
      return Accept::retry(Tick::never());
    }
    ++in_use_;
    most_in_use_ = std::max(most_in_use_, in_use_);
    if (config_.note_entries) {
      entries_.push_back({now, request.address, request.op, request.port});
    }
    const Tick latency = config_.latency_of ? config_.latency_of(accepted_) : config_.latency;
    ++accepted_;
    const Completion completion{
        .time = now + latency, .id = request.id, .address = request.address, .data = request.data};
    schedule(completion);
    if (request.tell_media) {
      Completion media = completion;
      media.time = now + config_.media_latency;
      media.kind = Completion::Kind::media;
      events_.push(media.time, media);
    }
    return Accept::yes();
  }

  [[nodiscard]] Tick next_event() const override { return events_.next(); }

  void advance(Tick until, Sink& sink) override {
    ++advances_;
    if (until < now_) time_went_back_ = true;
    now_ = until;
    while (events_.next() <= until) {
      const Completion completion = events_.pop();
      sink.push_back(completion);
      if (completion.kind == Completion::Kind::done) free_slot(completion.time, sink);
    }
  }

  [[nodiscard]] Bytes capacity() const override { return config_.capacity; }
  [[nodiscard]] bool idle() const override { return events_.empty(); }
  void register_counters(Counters& counters) const override {
    counters.add("mock.offers", offers_);
  }

  /// The next `fault` happens to the request sent after `healthy` others.
  void misbehave(Fault fault, std::uint64_t healthy = 0) {
    fault_ = fault;
    healthy_ = healthy;
  }

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::uint64_t offers() const { return offers_; }
  [[nodiscard]] std::uint64_t advances() const { return advances_; }
  [[nodiscard]] std::uint32_t most_in_use() const { return most_in_use_; }
  [[nodiscard]] bool time_went_back() const { return time_went_back_; }
  /// A port that waits offered again before it was woken.
  [[nodiscard]] bool asked_unwoken() const { return asked_unwoken_; }

 private:
  void schedule(Completion completion) {
    Fault fault = Fault::none;
    if (fault_ != Fault::none && fault_ != Fault::never_wake && healthy_-- == 0) {
      std::swap(fault, fault_);
    }
    switch (fault) {
      case Fault::lose:
        return;
      case Fault::twice:
        events_.push(completion.time, completion);
        break;
      case Fault::other_address:
        completion.address = completion.address + line_bytes;
        break;
      case Fault::other_id:
        completion.id += std::uint64_t{1} << 32;
        break;
      case Fault::early: {
        const Tick seen = completion.time;
        completion.time += Tick(1);
        events_.push(seen, completion);
        return;
      }
      case Fault::none:
      case Fault::never_wake:
        break;
    }
    events_.push(completion.time, completion);
  }

  void free_slot(Tick time, Sink& sink) {
    --in_use_;
    if (waiting_.empty() || fault_ == Fault::never_wake) return;
    kept_for_.push_back(waiting_.front());
    waiting_.erase(waiting_.begin());
    sink.push_back(
        {.time = time, .id = kept_for_.back(), .address = {}, .kind = Completion::Kind::wake});
  }

  Config config_;
  Tick now_;
  EventQueue<Completion> events_;
  std::vector<std::uint16_t> waiting_;   // refused ports, in order
  std::vector<std::uint16_t> kept_for_;  // woken ports, each with a slot
  std::uint32_t in_use_ = 0;
  std::uint32_t most_in_use_ = 0;
  std::uint64_t offers_ = 0;
  std::uint64_t accepted_ = 0;
  std::uint64_t advances_ = 0;
  bool time_went_back_ = false;
  bool asked_unwoken_ = false;
  Fault fault_ = Fault::none;
  std::uint64_t healthy_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace nearfar::sim
