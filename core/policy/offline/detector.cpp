#include "policy/offline/detector.h"

#include <algorithm>

#include "policy/offline/names.h"

namespace nearfar::policy {

Detector detector_named(std::string_view name) {
  const auto found = std::ranges::find(detector_names, name);
  if (found == detector_names.end()) refuse_name("detector", name, detector_names);
  return static_cast<Detector>(found - detector_names.begin());
}

void Seen::scan(std::vector<Scan>& found) {
  // Pages are unmapped in turn, so that few faults are taken at a time.
  constexpr std::uint64_t turns = 8;
  const bool in_turn = detector_ == Detector::probe;
  const std::uint64_t turn = scans_++ % turns;
  found.clear();
  told_ = 0;
  for (PageIndex page = 0; page < pages_.size(); ++page) {
    Bits& bits = pages_[page];
    if (!in_turn || page % turns == turn) {
      const bool used = detector_ == Detector::dirty ? bits.written : bits.used;
      Scan scan{.page = page, .accessed = used, .written = bits.written};
      if (in_turn) scan.delay = bits.delay;
      if (detector_ == Detector::sampled) scan.samples = bits.samples;
      told_ += detector_ == Detector::sampled ? bits.samples : std::uint64_t{used};
      found.push_back(scan);
    }
    bits = {};
  }
}

}  // namespace nearfar::policy
