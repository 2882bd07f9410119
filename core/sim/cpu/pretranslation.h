#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/address.h"
#include "base/counters.h"
#include "sim/cpu/config.h"

namespace nearfar::sim::cpu {

/// A pointer that a marked load has loaded: where it lies, in memory and in the program, and where
/// it leads in the program. `leads_to` is 0 in what is not marked.
struct MarkedPointer {
  Address physical;
  Address virtual_address;
  Address leads_to;
};

/// What memory is to be told: the frame that the pointer leads to.
struct PointerUpdate {
  Address pointer;
  std::uint64_t frame = 0;
};

/// The processor's part of Pre-translation (Wang et al., MICRO 2020, section V-B): translations
/// that came with data from the DIMM and that no walk has checked, a few of each core's, beside its
/// TLBs. What is done with them is the caches' business (hierarchy_pretranslation.cpp).
class Pretranslation {
 public:
  struct Entry {
    std::uint64_t page = 0;  ///< of 4 KiB, in the program
    std::uint64_t frame = 0;
    Address pointer;  ///< in memory, that led here
  };

  explicit Pretranslation(const PretranslationConfig& config) : config_(config) {}

  [[nodiscard]] const PretranslationConfig& config() const { return config_; }

  [[nodiscard]] std::optional<std::uint64_t> frame_of(std::size_t core, std::uint64_t page) const;
  /// In place of an older one for the same page, or of the oldest.
  void put(std::size_t core, const Entry& entry);
  /// Takes out what there is for pages from `first` on, up to `count` of them.
  [[nodiscard]] std::vector<Entry> take(std::size_t core, std::uint64_t first, std::uint64_t count);

  struct Count {
    std::uint64_t marked = 0;  ///< loads
    std::uint64_t cached = 0;  ///< of those, served by the caches
    std::uint64_t merged = 0;  ///< of those, whose line was on its way already, unmarked
    std::uint64_t probes = 0;  ///< sent for those that the caches served
    std::uint64_t entries = 0;  ///< that came
    std::uint64_t missing = 0;  ///< answers without one, to a page that no TLB knew
    std::uint64_t used = 0;  ///< accesses that read by one
    std::uint64_t corrected = 0;  ///< of those, given up: it was stale
    std::uint64_t walks = 0;  ///< that no access waited for when they began
    std::uint64_t stale = 0;  ///< entries that a walk found so
    std::uint64_t updates = 0;  ///< of the DIMM's
  };
  Count count;
  void register_counters(Counters& counters) const;

 private:
  PretranslationConfig config_;
  std::vector<std::vector<Entry>> cores_;  ///< oldest first
};

}  // namespace nearfar::sim::cpu
