#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "effort.h"
#include "lazy_fixture.h"
#include "machine_fixture.h"
#include "scripted.h"
#include "sim/cpu/agent.h"

/// What a loss of power may leave behind. Cores run random programs of non-temporal stores,
/// flushed stores, plain stores, loads and fences; after every single acceptance into the ADR
/// domain, the set of lines in it must be one that x86 allows: between two fences in any order,
/// but nothing behind an sfence or mfence before everything in front of it (Raad et al.,
/// Persistency Semantics of the Intel-x86 Architecture, POPL 2020).
namespace nearfar::sim::testing {
namespace test_file {

using cpu::Step;
using Script = std::vector<Step>;

/// Passes everything on to a machine and notes what it accepted and what it answered.
class Recorder final : public Device {
 public:
  struct Entry {
    bool accepted;  ///< else: a read was answered
    Op op;
    Address address;
  };

  explicit Recorder(Machine& machine) : machine_(machine) {}

  Accept try_send(const Request& request, Tick now) override {
    const Accept answer = machine_.try_send(request, now);
    if (answer.accepted) {
      log_.push_back({true, request.op, request.address});
      op_of_[request.id] = request.op;
    }
    return answer;
  }
  [[nodiscard]] Tick next_event() const override { return machine_.next_event(); }
  void advance(Tick until, Sink& sink) override {
    const std::size_t before = sink.size();
    machine_.advance(until, sink);
    note(sink, before);
  }
  Tick advance_to_completion(Tick until, Sink& sink) override {
    const std::size_t before = sink.size();
    const Tick reached = machine_.advance_to_completion(until, sink);
    note(sink, before);
    return reached;
  }
  [[nodiscard]] Bytes capacity() const override { return machine_.capacity(); }
  [[nodiscard]] bool idle() const override { return machine_.idle(); }
  void fence(Tick now) override { machine_.fence(now); }
  [[nodiscard]] std::uint32_t queue_of(Address address) const override {
    return machine_.queue_of(address);
  }
  void register_counters(Counters& counters) const override {
    machine_.register_counters(counters);
  }

  [[nodiscard]] const std::vector<Entry>& log() const { return log_; }

 private:
  void note(const Sink& sink, std::size_t first) {
    for (std::size_t i = first; i < sink.size(); ++i) {
      if (sink[i].kind != Completion::Kind::done || op_of_.at(sink[i].id) != Op::read) continue;
      log_.push_back({false, Op::read, sink[i].address});
    }
  }

  Machine& machine_;
  std::vector<Entry> log_;
  std::map<std::uint64_t, Op> op_of_;
};

// Each thread has its own lines: to be stored in order, to be stored without a flush, to load.
constexpr std::uint64_t ordered_area = 0;
constexpr std::uint64_t plain_area = 1 << 18;
constexpr std::uint64_t load_area = 2 << 18;
constexpr std::uint64_t thread_area = 1 << 20;

Script random_script(std::uint64_t thread, std::uint64_t seed) {
  Rng rng(seed * 31 + thread);
  const std::uint64_t lines = rng.below(2) == 0 ? 20 : 4000;  // many stores a line, or few
  const std::uint64_t fences_percent = 1 + rng.below(20);
  Script script(1500);
  std::uint64_t loads = 0;
  for (Step& step : script) {
    step.instructions = static_cast<std::uint32_t>(rng.below(20));
    const std::uint64_t base = thread * thread_area;
    const std::uint64_t kind = rng.below(100);
    if (kind < fences_percent) {
      step.kind = rng.below(2) == 0 ? Step::Kind::sfence : Step::Kind::mfence;
    } else if (kind < 35) {
      step.kind = Step::Kind::load;  // each of a line of its own
      step.address = Address(base + load_area + loads++ * line_bytes);
    } else if (kind < 45) {
      step.kind = Step::Kind::store;
      step.address = Address(base + plain_area + rng.below(4000) * line_bytes);
    } else {
      step.kind = kind < 65 ? Step::Kind::store_clwb : Step::Kind::nt_store;
      step.address = Address(base + ordered_area + rng.below(lines) * line_bytes);
    }
  }
  return script;
}

/// Counts of what has not happened yet, by the number of fences before it.
class Open {
 public:
  void add(std::size_t epoch) {
    if (epoch >= counts_.size()) counts_.resize(epoch + 1);
    ++counts_[epoch];
  }
  void remove(std::size_t epoch) { --counts_[epoch]; }
  static constexpr std::size_t nothing = ~std::size_t{0};
  /// The first epoch in which something is open.
  [[nodiscard]] std::size_t first() {
    while (first_ < counts_.size() && counts_[first_] == 0) ++first_;
    return first_ < counts_.size() ? first_ : nothing;
  }

 private:
  std::vector<std::uint64_t> counts_;
  std::size_t first_ = 0;
};

/// One thread's program against what has happened so far.
class ThreadOrder {
 public:
  explicit ThreadOrder(const Script& script) {
    std::size_t epoch = 0;
    std::size_t after_mfence = 0;
    for (const Step& step : script) {
      if (step.kind == Step::Kind::sfence || step.kind == Step::Kind::mfence) {
        ++epoch;
        if (step.kind == Step::Kind::mfence) after_mfence = epoch;
      } else if (step.kind == Step::Kind::nt_store || step.kind == Step::Kind::store_clwb) {
        stores_[step.address.value()].push_back(epoch);
        program_order_.push_back(step.address.value());
        unaccepted_.add(epoch);
      } else if (step.kind == Step::Kind::load) {
        loads_[step.address.value()] = {epoch, after_mfence};
        unanswered_.add(epoch);
      }
    }
  }

  /// A store to the line has been accepted. The k-th acceptance is taken for the k-th store of the
  /// program to that line: if any assignment is allowed, this one is.
  void accept_store(std::uint64_t line) {
    auto& epochs = stores_[line];
    ASSERT_FALSE(epochs.empty()) << "accepted more often than stored";
    const std::size_t epoch = epochs.front();
    epochs.pop_front();
    ASSERT_EQ(epoch, unaccepted_.first()) << "a store is in before one of an earlier epoch";
    unaccepted_.remove(epoch);
    if (program_order_[accepted_++] != line) ++out_of_order_;
  }

  void accept_load(std::uint64_t line) {
    ASSERT_GE(unaccepted_.first(), loads_.at(line).after_mfence) << "a load has passed an mfence";
    ASSERT_GE(unanswered_.first(), loads_.at(line).after_mfence) << "a load has passed an mfence";
  }
  void answer_load(std::uint64_t line) { unanswered_.remove(loads_.at(line).epoch); }

  void expect_complete() {
    EXPECT_EQ(unaccepted_.first(), Open::nothing);
    EXPECT_EQ(unanswered_.first(), Open::nothing);
  }
  [[nodiscard]] std::uint64_t out_of_order() const { return out_of_order_; }

 private:
  struct Load {
    std::size_t epoch = 0;  ///< fences before it
    std::size_t after_mfence = 0;  ///< fences up to the last mfence before it
  };
  std::map<std::uint64_t, std::deque<std::size_t>> stores_;  ///< by line: the stores' epochs
  std::map<std::uint64_t, Load> loads_;  ///< by line
  std::vector<std::uint64_t> program_order_;  ///< the stores' lines
  Open unaccepted_;
  Open unanswered_;
  std::size_t accepted_ = 0;
  std::uint64_t out_of_order_ = 0;
};

/// A random machine under a random core that has little of everything.
struct Power {
  explicit Power(std::uint64_t seed) : machine(settings_of(seed)), recorder(machine) {
    Rng rng(seed);
    cpu::Config core = cpu::Config::from(optane());
    core.load_buffers = static_cast<std::uint32_t>(1 + rng.below(16));
    core.wc_buffers = static_cast<std::uint32_t>(1 + rng.below(12));
    core.store_lines = static_cast<std::uint32_t>(1 + rng.below(9));
    core.store_queue = static_cast<std::uint32_t>(1 + rng.below(56));
    core.flush_buffers = static_cast<std::uint32_t>(1 + rng.below(4));
    core.reorder_reads = static_cast<std::uint32_t>(rng.below(9));
    core.reorder_writes = static_cast<std::uint32_t>(rng.below(9));
    core.writeback_lines = rng.below(200);
    const std::uint64_t threads = 1 + rng.below(6);
    std::vector<std::unique_ptr<cpu::Program>> programs;
    for (std::uint64_t thread = 0; thread < threads; ++thread) {
      scripts.push_back(std::make_unique<Script>(random_script(thread, seed)));
      programs.push_back(std::make_unique<Scripted>(*scripts.back()));
    }
    cpu::Agent(recorder, core, seed).run(std::move(programs), {});
  }

  /// Goes through all that happened, in order, as if the power failed after each entry.
  void check() {
    std::vector<ThreadOrder> orders;
    for (const auto& script : scripts) orders.emplace_back(*script);
    for (const Recorder::Entry& entry : recorder.log()) {
      const std::uint64_t line = entry.address.value();
      ThreadOrder& order = orders.at(line / thread_area);
      const std::uint64_t area = line % thread_area;
      if (area >= load_area) {
        entry.accepted ? order.accept_load(line) : order.answer_load(line);
      } else if (area < plain_area && entry.accepted && entry.op == Op::write) {
        order.accept_store(line);
      }
      if (::testing::Test::HasFatalFailure()) return;
    }
    for (ThreadOrder& order : orders) {
      order.expect_complete();
      out_of_order += order.out_of_order();
    }
  }

  Machine machine;
  Recorder recorder;
  std::vector<std::unique_ptr<Script>> scripts;
  std::uint64_t out_of_order = 0;

 private:
  static Settings settings_of(std::uint64_t seed) {
    Settings settings = seed % 3 == 0 ? random_lazy(seed) : random_optane(seed);
    settings.set("nvdimm.wear.stall", "100000");  // no stalls without end
    return settings;
  }
};

TEST(PowerFailure, APowerFailureLeavesAStateThatFencesAllowWheneverItComes) {
  std::uint64_t stores_out_of_order = 0;
  for (std::uint64_t seed = 1; seed <= cases(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Power power(seed);
    power.check();
    if (HasFatalFailure()) return;
    stores_out_of_order += power.out_of_order;
  }
  EXPECT_GT(stores_out_of_order, 16 * cases(60)) << "between fences the order is free, and is used";
}

}  // namespace test_file
}  // namespace nearfar::sim::testing
