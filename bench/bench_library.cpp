// A stream through the C interface of the library: bench_library MODEL STREAM FOOTPRINT HOW
// REQUESTS, as bench_machine takes it but for HOW. What it costs above bench_machine is the
// boundary's. One that "waits" sends as soon as the memory has a place; one that "offers" is
// refused and woken, as bench_machine is.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "library/include/nearfar/memory.h"
#include "sim/request.h"
#include "sim/sink.h"
#include "streams.h"

namespace {

using nearfar::Tick;
using nearfar::bench::Lines;
using nearfar::bench::Outcome;
using nearfar::bench::Stream;

/// Plays a stream by the calls of the C interface, and does as little beside as a host can.
class Host {
 public:
  Host(const char* model, const Stream& stream) : lines_(stream), outstanding_(stream.outstanding) {
    nearfar_memory* made = nullptr;
    if (nearfar_memory_open(model, &made) != NEARFAR_OK) throw std::runtime_error(nearfar_error());
    memory_.reset(made);
    draw();
  }

  Outcome wait_for_places(std::uint64_t count) {
    constexpr std::uint64_t sends_a_look = 32;  // so that completions do not pile up
    while (done_ < count) {
      while (sent_ < count && nearfar_memory_unfinished(memory_.get()) < outstanding_) {
        check(nearfar_memory_send_when_free(memory_.get(), &request_, now_));
        now_ = nearfar_memory_now(memory_.get());
        taken();
        if (sent_ % sends_a_look == 0) take_gathered();
      }
      take(check(nearfar_memory_wait(memory_.get(), NEARFAR_NEVER, come_.data(), room)));
    }
    return outcome(count);
  }

  Outcome offer(std::uint64_t count) {
    while (done_ < count) {
      const std::uint64_t end = std::min(count, done_ + outstanding_);
      while (sent_ < end && !refused_) {
        refused_ = check(nearfar_memory_send(memory_.get(), &request_, now_)) == NEARFAR_WAIT;
        if (!refused_) taken();
      }
      take(check(nearfar_memory_wait(memory_.get(), NEARFAR_NEVER, come_.data(), room)));
    }
    return outcome(count);
  }

 private:
  struct Destroy {
    void operator()(nearfar_memory* memory) const { nearfar_memory_destroy(memory); }
  };
  static constexpr std::size_t room = 64;

  static int check(int status) {
    if (status < 0) throw std::runtime_error(nearfar_error());
    return status;
  }

  void draw() {
    lines_.draw(drawn_);
    request_.address = drawn_.address.value();
    request_.op = static_cast<std::uint8_t>(drawn_.op);
    request_.id = drawn_.op == nearfar::sim::Op::read;
  }

  void taken() {
    ++sent_;
    if (request_.id != 0) taken_ps_ += now_;
    draw();
  }

  void take_gathered() {
    std::size_t count = room;
    while (count == room) {
      count = nearfar_memory_completions(memory_.get(), come_.data(), room);
      take(static_cast<int>(count));
    }
  }

  void take(int count) {
    for (int i = 0; i < count; ++i) {
      const nearfar_completion& come = come_[static_cast<std::size_t>(i)];
      if (come.kind == NEARFAR_WAKE) {
        refused_ = false;
        continue;
      }
      ++done_;
      last_ps_ = come.time_ps;
      if (come.id != 0) {
        ++reads_;
        done_ps_ += come.time_ps;
      }
    }
    now_ = nearfar_memory_now(memory_.get());
  }

  [[nodiscard]] Outcome outcome(std::uint64_t count) const {
    return {.requests = count,
            .elapsed = Tick(last_ps_),
            .read_latency_sum = Tick(done_ps_ - taken_ps_),
            .reads = reads_};
  }

  std::unique_ptr<nearfar_memory, Destroy> memory_;
  Lines lines_;
  std::uint64_t outstanding_;
  nearfar::sim::Request drawn_;
  nearfar_request request_{};
  std::array<nearfar_completion, room> come_{};
  bool refused_ = false;
  std::uint64_t now_ = 0, sent_ = 0, done_ = 0;
  std::uint64_t reads_ = 0, taken_ps_ = 0, done_ps_ = 0, last_ps_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc == 6 ? argv[4] : "";
  if (how != "waits" && how != "offers") {
    std::fprintf(stderr, "usage: bench_library MODEL STREAM FOOTPRINT waits|offers REQUESTS\n");
    return 2;
  }
  try {
    bool known = false;
    const auto stream =
        nearfar::bench::stream_named(argv[2], std::strtoull(argv[3], nullptr, 10), known);
    if (!known) throw std::runtime_error("no such stream");
    Host host(argv[1], stream);
    const std::uint64_t count = std::strtoull(argv[5], nullptr, 10);
    nearfar::bench::print(how == "waits" ? host.wait_for_places(count) : host.offer(count));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_library: %s\n", error.what());
    return 1;
  }
  return 0;
}
