#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "policy/page.h"

namespace nearfar::policy {

/// How a system learns which pages are used.
enum class Detector : std::uint8_t {
  dirty,     ///< dirty bits: writes alone are seen
  accessed,  ///< accessed bits: reads and writes
  probe,     ///< an eighth of the pages at a time is unmapped: the first touch faults
  sampled,   ///< the processor samples one access in many
};
inline constexpr auto detector_names =
    std::to_array<std::string_view>({"dirty", "accessed", "probe", "sampled"});

/// Throws InputError for a name that is no detector's.
[[nodiscard]] Detector detector_named(std::string_view name);

/// What a detector knows of the pages since the scan before.
class Seen {
 public:
  /// A detector that samples takes one of so many accesses.
  Seen(Detector detector, std::uint64_t period) : detector_(detector), period_(period) {}

  void accessed(PageIndex page, bool write, std::uint8_t delay) {
    if (detector_ == Detector::sampled && ++since_sample_ < period_) return;
    since_sample_ = 0;
    Bits& bits = pages_[page];
    if (!bits.used) bits.delay = delay & 15U;
    bits.used = true;
    bits.written |= write;
    ++bits.samples;
  }
  /// A page that was not there is.
  void add(PageIndex page) { pages_.resize(page + std::size_t{1}); }

  /// What a scan finds, and clears, of all pages or of those whose turn it is.
  void scan(std::vector<Scan>& found);

  /// Samples taken, or pages whose first touch a fault told, in the last scan.
  [[nodiscard]] std::uint64_t told() const { return told_; }

 private:
  struct Bits {
    std::uint32_t samples = 0;
    bool used : 1 = false;
    bool written : 1 = false;
    std::uint8_t delay : 4 = 0;
  };

  Detector detector_;
  std::uint64_t period_;
  std::uint64_t since_sample_ = 0;
  std::uint64_t scans_ = 0;
  std::uint64_t told_ = 0;
  std::vector<Bits> pages_;
};

}  // namespace nearfar::policy
