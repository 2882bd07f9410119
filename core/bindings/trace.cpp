#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <vector>

#include "bindings/convert.h"
#include "trace/converter.h"
#include "trace/format.h"
#include "trace/reader.h"
#include "trace/summary.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace nearfar;
using namespace nearfar::bindings;

namespace {

nb::bytes to_bytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }

class BoundSummary {
 public:
  BoundSummary(const std::string& name, const std::string& format, std::uint32_t base)
      : reader_(trace::make_reader(name, format, base)) {}

  void feed(const nb::bytes& data) {
    in_pieces(data, [this](std::string_view piece) {
      try {
        reader_->feed(piece, records_);
      } catch (...) {
        add_all();
        throw;
      }
      add_all();
    });
  }

  void finish() {
    reader_->finish(records_);
    add_all();
  }

  [[nodiscard]] std::string format() const { return std::string(reader_->format_name()); }

  nb::dict result() const {
    const trace::Timing timing = reader_->timing();
    nb::dict dict;
    dict["format"] = format();
    dict["header"] = text_of(reader_->header());
    dict["kind"] = timing.kind == trace::Kind::memory ? "memory" : "program";
    dict["counts"] = timing.counts == trace::Counts::cycles ? "cycles" : "instructions";
    dict["clock_ps"] = timing.clock_ps;
    dict["records"] = summary_.records();
    dict["operations"] = operations();
    dict["threads"] = threads();
    dict["lowest_address"] = summary_.lowest().value();
    dict["highest_address"] = summary_.highest().value();
    dict["lines"] = summary_.lines();
    dict["pages"] = summary_.pages();
    dict["accesses"] = summary_.accesses();
    dict["sequential"] = summary_.sequential();
    dict["length"] = summary_.length();
    dict["hottest_pages"] = hottest();
    return dict;
  }

 private:
  void add_all() {
    const trace::Timing timing = reader_->timing();
    for (const trace::Record& record : records_) summary_.add(record, timing);
    records_.clear();
  }

  nb::dict operations() const {
    constexpr const char* names[] = {"read",  "write",       "nt_write",
                                     "flush", "store_fence", "full_fence"};
    static_assert(std::size(names) == trace::access_kinds);
    nb::dict dict;
    for (std::size_t i = 0; i < trace::access_kinds; ++i) {
      dict[names[i]] = summary_.count(static_cast<trace::Access>(i));
    }
    return dict;
  }

  nb::dict threads() const {
    nb::dict dict;
    const auto& counts = summary_.by_thread();
    for (std::size_t thread = 0; thread < counts.size(); ++thread) {
      if (counts[thread] != 0) dict[std::to_string(thread).c_str()] = counts[thread];
    }
    return dict;
  }

  nb::list hottest() const {
    constexpr std::size_t shown = 10;
    nb::list list;
    for (const auto& page : summary_.hottest(shown)) {
      nb::dict dict;
      dict["address"] = page.address.value();
      dict["accesses"] = page.accesses;
      list.append(dict);
    }
    return list;
  }

  std::unique_ptr<trace::Reader> reader_;
  std::vector<trace::Record> records_;
  trace::Summary summary_;
};

/// Records as they are, five words each: the place in the trace, thread, access (read, write,
/// non-temporal write, flush, store fence, full fence), address and bytes.
class BoundRecords {
 public:
  BoundRecords(const std::string& name, const std::string& format, std::uint32_t base)
      : reader_(trace::make_reader(name, format, base)) {}

  nb::bytes feed(const nb::bytes& data) {
    reader_->feed({data.c_str(), data.size()}, records_);
    raise_signals();
    return take();
  }

  nb::bytes finish() {
    reader_->finish(records_);
    return take();
  }

  [[nodiscard]] std::string format() const { return std::string(reader_->format_name()); }
  [[nodiscard]] bool of_program() const { return reader_->timing().kind == trace::Kind::program; }

 private:
  nb::bytes take() {
    std::string out;
    for (const trace::Record& record : records_) {
      const std::uint64_t words[] = {record.line, record.thread,
                                     static_cast<std::uint64_t>(record.access),
                                     record.address.value(), record.size};
      out.append(reinterpret_cast<const char*>(words), sizeof words);
    }
    records_.clear();
    return to_bytes(out);
  }

  std::unique_ptr<trace::Reader> reader_;
  std::vector<trace::Record> records_;
};

class BoundConverter {
 public:
  BoundConverter(const std::string& name, const std::string& from, std::uint32_t base,
                 const std::string& to, std::uint64_t skip, std::uint64_t run,
                 std::uint64_t clock_ps, const std::string& command)
      : converter_(trace::make_reader(name, from, base),
                   {.to = to,
                    .window = {.skip = skip, .warm = 0, .run = run},
                    .clock_ps = clock_ps,
                    .command = command,
                    .creator = "nearfar " NEARFAR_VERSION}) {}

  nb::bytes feed(const nb::bytes& data) {
    std::string out;
    converter_.feed({data.c_str(), data.size()}, out);
    raise_signals();
    return to_bytes(out);
  }

  nb::bytes finish() {
    std::string out;
    converter_.finish(out);
    return to_bytes(out);
  }

  [[nodiscard]] bool has_more() const { return converter_.has_more(); }
  [[nodiscard]] bool done() const { return converter_.done(); }
  [[nodiscard]] std::uint64_t records() const { return converter_.records(); }
  [[nodiscard]] std::uint64_t left_out() const { return converter_.left_out(); }
  [[nodiscard]] std::string format() const { return std::string(converter_.from()); }

 private:
  trace::Converter converter_;
};

}  // namespace

void bind_trace(nb::module_& module) {
  module.def("trace_formats", [] {
    nb::list list;
    for (const trace::Format* format : trace::formats()) {
      nb::dict dict;
      dict["name"] = std::string(format->name);
      dict["text"] = format->is_text();
      dict["written"] = format->is_written();
      dict["magic"] = nb::bytes(format->magic.data(), format->magic.size());
      list.append(dict);
    }
    return list;
  });
  nb::class_<BoundSummary>(module, "TraceSummary")
      .def(nb::init<const std::string&, const std::string&, std::uint32_t>(), nb::kw_only(),
           "name"_a, "format"_a, "base"_a)
      .def("feed", &BoundSummary::feed, "data"_a)
      .def("finish", &BoundSummary::finish)
      .def("format", &BoundSummary::format)
      .def("result", &BoundSummary::result);
  nb::class_<BoundRecords>(module, "TraceRecords")
      .def(nb::init<const std::string&, const std::string&, std::uint32_t>(), nb::kw_only(),
           "name"_a, "format"_a, "base"_a)
      .def("feed", &BoundRecords::feed, "data"_a)
      .def("finish", &BoundRecords::finish)
      .def("format", &BoundRecords::format)
      .def("of_program", &BoundRecords::of_program);
  nb::class_<BoundConverter>(module, "TraceConverter")
      .def(nb::init<const std::string&, const std::string&, std::uint32_t, const std::string&,
                    std::uint64_t, std::uint64_t, std::uint64_t, const std::string&>(),
           nb::kw_only(), "name"_a, "source"_a, "base"_a, "to"_a, "skip"_a, "run"_a, "clock_ps"_a,
           "command"_a)
      .def("feed", &BoundConverter::feed, "data"_a)
      .def("finish", &BoundConverter::finish)
      .def("has_more", &BoundConverter::has_more)
      .def("done", &BoundConverter::done)
      .def("records", &BoundConverter::records)
      .def("left_out", &BoundConverter::left_out)
      .def("format", &BoundConverter::format);
}
