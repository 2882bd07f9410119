#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "bindings/convert.h"
#include "policy/offline/flat.h"
#include "policy/offline/flat_bound.h"
#include "policy/offline/touches.h"
#include "trace/format.h"
#include "trace/reader.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace nearfar;
using namespace nearfar::bindings;

namespace {

constexpr Bytes page_bytes = 4096;
constexpr std::uint64_t most_intervals = 1'000'000;

/// When a record of a trace reaches memory, from what the trace says of it.
class TraceClock {
 public:
  /// Throws InputError for a trace that does not say.
  explicit TraceClock(const trace::Reader& reader)
      : timing_(reader.timing()), name_(reader.name()) {
    const trace::Format* format = trace::find_format(reader.format_name());
    const std::string name = reader.name() + ": found ";
    if (format != nullptr && !format->timed) {
      throw InputError(name + "a trace of format '" + std::string(reader.format_name()) +
                       "' without times, expected one that says when memory is asked, as "
                       "`nearfar trace record` and `nearfar vm record` write");
    }
    if (timing_.kind != trace::Kind::memory) {
      throw InputError(name +
                       "the accesses of a program before its caches, expected those that "
                       "reach memory, as `nearfar trace record` writes them");
    }
    if (timing_.clock_ps == 0) {
      throw InputError(name +
                       "cycles of unknown length, expected a trace that states it; "
                       "`nearfar trace convert --clock 2666MT/s` adds it");
    }
  }

  /// Throws InputError for a time that cannot be counted.
  Tick at(const trace::Record& record) {
    if (record.cycles > latest.ps() / timing_.clock_ps) refuse(record.cycles);
    const Tick gap = record.cycles * Tick(timing_.clock_ps);
    if (timing_.counts == trace::Counts::instructions) {
      if (record.thread >= threads_.size()) threads_.resize(record.thread + std::size_t{1});
      now_ = max(now_, threads_[record.thread] += gap);
    } else {
      now_ = record.absolute ? max(now_, gap) : now_ + gap;
    }
    if (now_ > latest) refuse(record.cycles);
    return now_;
  }
  [[nodiscard]] bool is_of_program_alone() const {
    return timing_.counts == trace::Counts::instructions;
  }

 private:
  static constexpr Tick latest{Tick::never().ps() / 2};

  [[noreturn]] void refuse(std::uint64_t cycles) const {
    throw InputError(name_ + ": found a record " + std::to_string(cycles) + " cycles of " +
                     std::to_string(timing_.clock_ps) +
                     " ps away, expected the trace to end within 106 days");
  }

  trace::Timing timing_;
  std::string name_;
  Tick now_{};
  std::vector<Tick> threads_;
};

policy::FlatCosts costs_of(const nb::dict& given) {
  const auto time = [&](const char* name) { return Tick(nb::cast<std::uint64_t>(given[name])); };
  return {.far_read = time("far_read_ps"),
          .far_write = time("far_write_ps"),
          .exchange = time("exchange_ps"),
          .scan = time("scan_ps"),
          .found = time("found_ps")};
}

nb::dict to_dict(const policy::FlatInterval& interval) {
  nb::dict dict;
  dict["near_reads"] = interval.near_reads;
  dict["near_writes"] = interval.near_writes;
  dict["far_reads"] = interval.far_reads;
  dict["far_writes"] = interval.far_writes;
  dict["promoted"] = interval.promoted;
  dict["demoted"] = interval.demoted;
  dict["pages_scanned"] = interval.scanned;
  dict["told"] = interval.told;
  return dict;
}

class BoundTouches {
 public:
  BoundTouches(const std::string& name, const std::string& format, std::uint32_t base,
               std::uint64_t step_ps)
      : reader_(trace::make_reader(name, format, base)), touches_(Tick(step_ps)) {}

  void feed(const nb::bytes& data) {
    in_pieces(data, [this](std::string_view piece) {
      reader_->feed(piece, records_);
      add_all();
    });
  }
  void finish() {
    reader_->finish(records_);
    add_all();
  }

  [[nodiscard]] std::string format() const { return std::string(reader_->format_name()); }
  [[nodiscard]] std::string header() const { return reader_->header(); }
  [[nodiscard]] bool is_of_program_alone() const { return clock_ && clock_->is_of_program_alone(); }
  [[nodiscard]] std::uint64_t reads() const { return touches_.reads(); }
  [[nodiscard]] std::uint64_t writes() const { return touches_.writes(); }
  [[nodiscard]] policy::PageIndex pages() const { return touches_.pages(); }
  [[nodiscard]] std::uint64_t duration_ps() const { return touches_.duration().ps(); }
  [[nodiscard]] std::uint64_t intervals() const { return touches_.intervals(); }

  [[nodiscard]] nb::dict replay(const std::string& policy, policy::PageIndex near,
                                std::uint64_t pairs, const std::string& detector,
                                std::uint64_t sample, const nb::dict& costs) const {
    const policy::FlatResult result =
        policy::replay_flat(touches_,
                            {.policy = policy,
                             .near = near,
                             .pairs = pairs,
                             .detector = policy::detector_named(detector),
                             .sample = sample,
                             .costs = costs_of(costs)},
                            raise_signals);
    nb::list intervals;
    for (const policy::FlatInterval& interval : result.intervals)
      intervals.append(to_dict(interval));
    nb::dict dict = to_dict(result.total);
    dict["extra_ps"] = result.extra.ps();
    dict["intervals"] = intervals;
    return dict;
  }
  /// The extra time of the hottest pages placed once and for all, and of any sequence at least.
  [[nodiscard]] nb::tuple bound(policy::PageIndex near, std::uint64_t pairs,
                                const nb::dict& costs) const {
    const policy::FlatBound bound = policy::flat_bound(
        touches_, {.near = near, .pairs = pairs, .costs = costs_of(costs)}, raise_signals);
    return nb::make_tuple(bound.hottest.ps(), bound.sequence.ps());
  }

 private:
  void add_all() {
    if (!clock_ && !records_.empty()) clock_ = std::make_unique<TraceClock>(*reader_);
    for (const trace::Record& record : records_) {
      const Tick at = clock_->at(record);
      if (trace::is_fence(record.access) || record.access == trace::Access::flush) continue;
      add(record, at);
    }
    records_.clear();
  }
  void add(const trace::Record& record, Tick at) {
    if (at / touches_.interval() >= most_intervals) {
      throw InputError("--interval: found more than " + std::to_string(most_intervals) +
                       " intervals in the trace, expected fewer; give a longer one");
    }
    const bool write = record.access != trace::Access::read;
    const std::uint64_t last = (record.address + (record.size - 1)).block(line_bytes);
    for (std::uint64_t line = record.address.block(line_bytes); line <= last; ++line) {
      touches_.access(line / (page_bytes / line_bytes), write, at);
    }
  }

  std::unique_ptr<trace::Reader> reader_;
  std::unique_ptr<TraceClock> clock_;
  std::vector<trace::Record> records_;
  policy::Touches touches_;
};

}  // namespace

void bind_flat(nb::module_& module) {
  nb::class_<BoundTouches>(module, "PageTouches")
      .def(nb::init<const std::string&, const std::string&, std::uint32_t, std::uint64_t>(),
           nb::kw_only(), "name"_a, "format"_a = "auto", "base"_a = 0, "step_ps"_a)
      .def("feed", &BoundTouches::feed, "data"_a)
      .def("finish", &BoundTouches::finish)
      .def("format", &BoundTouches::format)
      .def("header", &BoundTouches::header)
      .def("is_of_program_alone", &BoundTouches::is_of_program_alone)
      .def("reads", &BoundTouches::reads)
      .def("writes", &BoundTouches::writes)
      .def("pages", &BoundTouches::pages)
      .def("duration_ps", &BoundTouches::duration_ps)
      .def("intervals", &BoundTouches::intervals)
      .def("replay", &BoundTouches::replay, nb::kw_only(), "policy"_a, "near"_a, "pairs"_a,
           "detector"_a, "sample"_a, "costs"_a)
      .def("bound", &BoundTouches::bound, nb::kw_only(), "near"_a, "pairs"_a, "costs"_a);
}
