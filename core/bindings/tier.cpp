#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "bindings/convert.h"
#include "policy/offline/bounds.h"
#include "policy/offline/owned.h"
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
  BoundVisits(const std::string& name, const std::string& format, std::uint32_t base)
      : reader_(trace::make_reader(name, format, base)) {}

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
  /// Visits that come from no trace: 32-bit words of this machine's order, a page's number times
  /// four, plus one if it is written, or two if it is released.
  void add(const nb::bytes& words) {
    std::uint32_t word = 0;
    for (std::size_t at = 0; at + sizeof word <= words.size(); at += sizeof word) {
      std::memcpy(&word, words.c_str() + at, sizeof word);
      if ((word & 2U) != 0) {
        visits_.release(word >> 2U);
      } else {
        visits_.access(word >> 2U, (word & 1U) != 0);
      }
    }
  }

  [[nodiscard]] std::string format() const { return std::string(reader_->format_name()); }
  [[nodiscard]] std::uint64_t accesses() const { return visits_.accesses(); }
  [[nodiscard]] std::uint64_t visits() const { return visits_.visits(); }
  [[nodiscard]] policy::PageIndex pages() const { return visits_.pages(); }
  [[nodiscard]] std::uint64_t belady(policy::PageIndex near) const {
    return policy::belady_misses(visits_, near);
  }
  [[nodiscard]] std::uint64_t best_static(policy::PageIndex near) const {
    return policy::static_misses(visits_, near);
  }

  [[nodiscard]] nb::dict replay(const std::string& policy, policy::PageIndex near,
                                policy::PageIndex limbo, bool scans) const {
    const policy::Paging::Counts counts = policy::replay(
        visits_, {.policy = policy, .near = near, .limbo = limbo, .scans = scans}, raise_signals);
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

/// A policy of the registry, told by hand what a pager would tell it.
class BoundPolicy {
 public:
  BoundPolicy(const std::string& name, policy::PageIndex near, policy::PageIndex pages)
      : policy_(name, near), pages_(pages) {
    if (pages > policy::most_pages) throw InputError("pages: found more than 2^28 - 1");
    policy_.reserve(pages);
  }
  void fault(policy::PageIndex page) { policy_->fault(checked(page)); }
  void second_chance(policy::PageIndex page) { policy_->second_chance(checked(page)); }
  void refused(policy::PageIndex page) { policy_->refused(checked(page)); }
  void released(policy::PageIndex page) { policy_->released(checked(page)); }
  void moved(policy::PageIndex from, policy::PageIndex to) {
    policy_->moved(checked(from), checked(to));
  }
  void resize(policy::PageIndex near) { policy_->resize(near); }
  [[nodiscard]] std::optional<policy::PageIndex> evict() {
    const policy::PageIndex page = policy_->evict();
    return page == policy::no_page ? std::nullopt : std::optional(page);
  }
  [[nodiscard]] policy::PageIndex resident() { return policy_->resident(); }
  [[nodiscard]] std::size_t bytes_per_page() { return policy_->bytes_per_page(); }

 private:
  [[nodiscard]] policy::PageIndex checked(policy::PageIndex page) const {
    if (page < pages_) return page;
    throw InputError("page: found " + std::to_string(page) + ", expected less than " +
                     std::to_string(pages_));
  }

  policy::OwnedReplacement policy_;
  policy::PageIndex pages_;
};

}  // namespace

void bind_tier(nb::module_& module) {
  nb::class_<BoundPolicy>(module, "ReplacementPolicy")
      .def(nb::init<const std::string&, policy::PageIndex, policy::PageIndex>(), "name"_a,
           nb::kw_only(), "near"_a, "pages"_a)
      .def("fault", &BoundPolicy::fault, "page"_a)
      .def("second_chance", &BoundPolicy::second_chance, "page"_a)
      .def("refused", &BoundPolicy::refused, "page"_a)
      .def("released", &BoundPolicy::released, "page"_a)
      .def("moved", &BoundPolicy::moved, "source"_a, "target"_a)
      .def("resize", &BoundPolicy::resize, "near"_a)
      .def("evict", &BoundPolicy::evict)
      .def("resident", &BoundPolicy::resident)
      .def("bytes_per_page", &BoundPolicy::bytes_per_page);
  nb::class_<BoundVisits>(module, "PageVisits")
      .def(nb::init<const std::string&, const std::string&, std::uint32_t>(), nb::kw_only(),
           "name"_a = "visits", "format"_a = "auto", "base"_a = 0)
      .def("feed", &BoundVisits::feed, "data"_a)
      .def("finish", &BoundVisits::finish)
      .def("add", &BoundVisits::add, "words"_a)
      .def("format", &BoundVisits::format)
      .def("accesses", &BoundVisits::accesses)
      .def("visits", &BoundVisits::visits)
      .def("pages", &BoundVisits::pages)
      .def("belady", &BoundVisits::belady, "near"_a)
      .def("best_static", &BoundVisits::best_static, "near"_a)
      .def("replay", &BoundVisits::replay, nb::kw_only(), "policy"_a, "near"_a, "limbo"_a,
           "scans"_a = true);
}
