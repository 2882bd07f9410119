#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "bindings/convert.h"
#include "policy/offline/bounds.h"
#include "policy/offline/paging.h"
#include "policy/offline/visits.h"
#include "trace/reader.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace nearfar;
using namespace nearfar::bindings;

namespace {

constexpr Bytes page_bytes = 4096;

class BoundVisits {
 public:
  BoundVisits(const std::string& name, const std::string& format)
      : reader_(trace::make_reader(name, format)) {}

  void feed(const nb::bytes& data) {
    reader_->feed({data.c_str(), data.size()}, records_);
    add_all();
    raise_signals();
  }
  void finish() {
    reader_->finish(records_);
    add_all();
  }
  /// Visits that come from no trace: 32-bit words of this machine's order, a page's number times
  /// two, plus one if it is written.
  void add(const nb::bytes& words) {
    std::uint32_t word = 0;
    for (std::size_t at = 0; at + sizeof word <= words.size(); at += sizeof word) {
      std::memcpy(&word, words.c_str() + at, sizeof word);
      visits_.access(word >> 1, (word & 1) != 0);
    }
  }

  [[nodiscard]] std::string format() const { return std::string(reader_->format_name()); }
  [[nodiscard]] std::uint64_t accesses() const { return visits_.accesses(); }
  [[nodiscard]] std::size_t visits() const { return visits_.all().size(); }
  [[nodiscard]] policy::PageIndex pages() const { return visits_.pages(); }
  [[nodiscard]] std::uint64_t belady(policy::PageIndex near) const {
    return policy::belady_misses(visits_, near);
  }
  [[nodiscard]] std::uint64_t best_static(policy::PageIndex near) const {
    return policy::static_misses(visits_, near);
  }

  [[nodiscard]] nb::dict replay(const std::string& policy, policy::PageIndex near,
                                policy::PageIndex limbo) const {
    const policy::Paging::Counts counts =
        policy::replay(visits_, {.policy = policy, .near = near, .limbo = limbo});
    raise_signals();
    nb::dict dict;
    dict["misses"] = counts.misses();
    dict["faults"] = counts.faults();
    dict["first_touches"] = counts.first_touches;
    dict["copies_in"] = counts.copies_in;
    dict["copies_out"] = counts.copies_out;
    dict["clean_drops"] = counts.clean_drops;
    dict["second_chances"] = counts.second_chances;
    dict["scans"] = counts.scans;
    dict["pages_scanned"] = counts.pages_scanned;
    return dict;
  }

 private:
  void add_all() {
    for (const trace::Record& record : records_) {
      if (trace::is_fence(record.access)) continue;
      const bool write =
          record.access == trace::Access::write || record.access == trace::Access::nt_write;
      const std::uint64_t last = (record.address + (record.size - 1)).block(page_bytes);
      for (std::uint64_t page = record.address.block(page_bytes); page <= last; ++page) {
        visits_.access(page, write);
      }
    }
    records_.clear();
  }

  std::unique_ptr<trace::Reader> reader_;
  std::vector<trace::Record> records_;
  policy::Visits visits_;
};

nb::list policy_names() {
  nb::list names;
  for (const std::string_view name : policy::replacement_names()) names.append(std::string(name));
  return names;
}

}  // namespace

void bind_tier(nb::module_& module) {
  module.def("replacement_policies", &policy_names);
  nb::class_<BoundVisits>(module, "PageVisits")
      .def(nb::init<const std::string&, const std::string&>(), nb::kw_only(), "name"_a = "visits",
           "format"_a = "auto")
      .def("feed", &BoundVisits::feed, "data"_a)
      .def("finish", &BoundVisits::finish)
      .def("add", &BoundVisits::add, "words"_a)
      .def("format", &BoundVisits::format)
      .def("accesses", &BoundVisits::accesses)
      .def("visits", &BoundVisits::visits)
      .def("pages", &BoundVisits::pages)
      .def("belady", &BoundVisits::belady, "near"_a)
      .def("best_static", &BoundVisits::best_static, "near"_a)
      .def("replay", &BoundVisits::replay, nb::kw_only(), "policy"_a, "near"_a, "limbo"_a);
}
