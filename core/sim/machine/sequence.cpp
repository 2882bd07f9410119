#include "sim/machine/sequence.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/error.h"
#include "sim/cpu/agent.h"
#include "sim/machine/build.h"
#include "sim/machine/tables.h"

namespace nearfar::sim {
namespace {

using Kind = Sequence::Kind;

constexpr std::size_t accesses_a_poll = 1u << 16;
/// Half of what a Tick holds, so that what the accesses take cannot overflow it.
constexpr std::uint64_t longest_delay = std::uint64_t{1} << 63;

Address line_of(std::uint64_t step) {
  return Address(Sequence::operand_of(step)).aligned_down(line_bytes);
}

bool is_cached(Kind kind) { return kind == Kind::cached_load || kind == Kind::marked_load; }

void check(const Sequence& sequence, Bytes capacity) {
  std::uint64_t delays = 0;
  if (sequence.untimed > sequence.steps.size()) {
    throw InputError("sequence: " + std::to_string(sequence.untimed) + " untimed steps of " +
                     std::to_string(sequence.steps.size()));
  }
  for (std::size_t i = 0; i < sequence.steps.size(); ++i) {
    const std::uint64_t step = sequence.steps[i];
    const std::uint64_t operand = Sequence::operand_of(step);
    const auto here = [&] { return "sequence: step " + std::to_string(i) + " "; };
    if (step >> Sequence::operand_bits >= Sequence::kinds) {
      throw InputError(here() + "has operation " + std::to_string(step >> Sequence::operand_bits) +
                       ", expected 0 to " + std::to_string(Sequence::kinds - 1));
    }
    const Kind kind = Sequence::kind_of(step);
    if (i < sequence.untimed && !is_cached(kind)) {
      throw InputError(here() + "is untimed, expected a cached load");
    }
    if (is_cached(kind) && !sequence.core) {
      throw InputError(here() + "is a cached load, which needs the agent core");
    }
    switch (kind) {
      case Kind::load:
      case Kind::nt_store:
      case Kind::cached_load:
      case Kind::marked_load:
        if (operand >= capacity) {
          throw InputError(here() + "has address " + std::to_string(operand) +
                           ", beyond the memory of " + std::to_string(capacity) + " B");
        }
        break;
      case Kind::delay:
        delays += operand;
        if (delays >= longest_delay) {
          throw InputError(here() + "brings the delays to more than 106 days");
        }
        break;
      case Kind::mfence:
      case Kind::sfence:
      case Kind::wait:
        break;
    }
  }
}

/// Sends the steps straight to the memory, in order, through one port.
class Player {
 public:
  Player(Device& device, const Sequence& sequence, const std::function<void()>& poll,
         SequenceTimes& times)
      : device_(device),
        sequence_(sequence),
        poll_(poll),
        times_(times),
        limit_(sequence.outstanding == 0 ? ~std::uint64_t{0} : sequence.outstanding) {}

  void play() {
    for (std::size_t i = 0; i < sequence_.steps.size(); ++i) {
      if (poll_ && (i + 1) % accesses_a_poll == 0) poll_();
      const std::uint64_t step = sequence_.steps[i];
      const Kind kind = Sequence::kind_of(step);
      if (kind == Kind::load || kind == Kind::nt_store) {
        send(i, line_of(step), kind == Kind::load ? Op::read : Op::write);
        continue;
      }
      times_.issued[i] = now_.ps();
      if (kind == Kind::delay) {
        pass(Tick(Sequence::operand_of(step)));
      } else {
        drain();
        if (kind == Kind::mfence) device_.fence(now_);
      }
      times_.done[i] = now_.ps();
    }
    drain();
    settle_at(device_, now_);
  }

 private:
  void send(std::size_t index, Address address, Op op) {
    while (in_flight_ >= limit_) advance();
    times_.issued[index] = now_.ps();
    Request request;
    request.id = index;
    request.address = address;
    request.op = op;
    ++in_flight_;
    while (!device_.try_send(request, now_).accepted) {
      woken_ = false;
      while (!woken_) advance();
    }
  }

  void drain() {
    while (in_flight_ > 0) advance();
  }

  void pass(Tick span) {
    now_ += span;
    device_.advance(now_, sink_);
    collect();
  }

  void advance() {
    const Tick reached = device_.advance_to_completion(Tick::never() - Tick(1), sink_);
    if (sink_.empty()) throw std::logic_error("the memory has forgotten a request");
    now_ = max(now_, reached);
    collect();
  }

  void collect() {
    for (const Completion& completion : sink_) {
      if (completion.kind == Completion::Kind::wake) {
        woken_ = true;
      } else {
        times_.done[completion.id] = completion.time.ps();
        --in_flight_;
      }
    }
    sink_.clear();
  }

  Device& device_;
  const Sequence& sequence_;
  const std::function<void()>& poll_;
  SequenceTimes& times_;
  std::uint64_t limit_;
  std::uint64_t in_flight_ = 0;
  bool woken_ = false;
  Tick now_{};
  Sink sink_;
};

/// The steps as a core's program.
class Steps final : public cpu::Program {
 public:
  Steps(const Sequence& sequence, const cpu::Config& config, SequenceTimes& times)
      : sequence_(sequence),
        line_instructions_(config.line_instructions),
        dependent_(sequence.outstanding == 1),
        times_(times),
        // Without caches there is nothing that they could leave behind.
        at_(config.cached ? 0 : sequence.untimed) {}

  bool next(cpu::Step& step) override {
    if (at_ == sequence_.steps.size()) return false;
    const std::uint64_t word = sequence_.steps[at_];
    step = cpu::Step{};
    step.timed = true;
    step.tag = at_++;
    switch (Sequence::kind_of(word)) {
      case Kind::marked_load:
        step.leads_to = next_cached();
        [[fallthrough]];
      case Kind::load:
      case Kind::cached_load:
        step.kind = Sequence::kind_of(word) == Kind::load ? cpu::Step::Kind::nt_load
                                                          : cpu::Step::Kind::load;
        // A pointer has its place in the line.
        step.address =
            step.leads_to == Address{} ? line_of(word) : Address(Sequence::operand_of(word));
        step.instructions = line_instructions_;
        step.waits = step.feeds = dependent_;
        break;
      case Kind::nt_store:
        step.kind = cpu::Step::Kind::nt_store;
        step.address = line_of(word);
        step.instructions = line_instructions_;
        break;
      case Kind::mfence:
        step.kind = cpu::Step::Kind::mfence;
        break;
      case Kind::sfence:
        step.kind = cpu::Step::Kind::sfence;
        break;
      case Kind::wait:
        step.kind = cpu::Step::Kind::wait;
        break;
      case Kind::delay:
        step.kind = cpu::Step::Kind::delay;
        step.span = Tick(Sequence::operand_of(word));
        break;
    }
    return true;
  }

  /// Where the load behind the one at hand reads; address 0 can be no pointer.
  [[nodiscard]] Address next_cached() const {
    for (std::size_t i = at_; i < sequence_.steps.size(); ++i) {
      const std::uint64_t word = sequence_.steps[i];
      if (is_cached(Sequence::kind_of(word))) return Address(Sequence::operand_of(word));
    }
    return Address{};
  }

  void began(std::uint64_t tag, Tick at) override { times_.issued[tag] = at.ps(); }
  void done(std::uint64_t tag, Tick at) override { times_.done[tag] = at.ps(); }

 private:
  const Sequence& sequence_;
  std::uint32_t line_instructions_;
  bool dependent_;
  SequenceTimes& times_;
  std::size_t at_;
};

void play_on_core(Device& memory, const Settings& settings, const Sequence& sequence,
                  const std::function<void()>& poll, SequenceTimes& times) {
  cpu::Config config = core_of(settings, memory.capacity());
  if (sequence.outstanding != 0) {
    config.load_buffers = std::min(config.load_buffers, sequence.outstanding);
  }
  cpu::Agent agent(memory, config, settings.count("seed"));
  std::vector<std::unique_ptr<cpu::Program>> programs;
  programs.push_back(std::make_unique<Steps>(sequence, config, times));
  agent.run(std::move(programs), {.untimed = sequence.untimed}, poll);
  settle_at(memory, agent.now());
}

}  // namespace

SequenceTimes play(const Settings& settings, const Sequence& sequence,
                   const std::function<void()>& poll) {
  const std::unique_ptr<Device> memory = build(settings);
  check(sequence, memory->capacity());
  SequenceTimes times;
  times.issued.resize(sequence.steps.size());
  times.done.resize(sequence.steps.size());
  if (sequence.core) {
    play_on_core(*memory, settings, sequence, poll, times);
  } else {
    Player(*memory, sequence, poll, times).play();
  }
  for (const std::uint64_t done : times.done) times.elapsed = max(times.elapsed, Tick(done));
  Counters counters;
  memory->register_counters(counters);
  times.counters = counters.read();
  return times;
}

}  // namespace nearfar::sim
