#include "sim/cpu/pretranslation.h"

#include <algorithm>

namespace nearfar::sim::cpu {

std::optional<std::uint64_t> Pretranslation::frame_of(std::size_t core, std::uint64_t page) const {
  if (core >= cores_.size()) return std::nullopt;
  for (const Entry& entry : cores_[core]) {
    if (entry.page == page) return entry.frame;
  }
  return std::nullopt;
}

void Pretranslation::put(std::size_t core, const Entry& entry) {
  if (core >= cores_.size()) cores_.resize(core + 1);
  std::vector<Entry>& entries = cores_[core];
  std::erase_if(entries, [&](const Entry& other) { return other.page == entry.page; });
  if (entries.size() == config_.entries) entries.erase(entries.begin());
  entries.push_back(entry);
}

std::vector<Pretranslation::Entry> Pretranslation::take(std::size_t core, std::uint64_t first,
                                                        std::uint64_t count) {
  std::vector<Entry> taken;
  if (core >= cores_.size()) return taken;
  const auto in_page = [&](const Entry& entry) { return entry.page - first < count; };
  for (const Entry& entry : cores_[core]) {
    if (in_page(entry)) taken.push_back(entry);
  }
  std::erase_if(cores_[core], in_page);
  return taken;
}

void Pretranslation::register_counters(Counters& counters) const {
  counters.add("pretranslation.marked", count.marked);
  counters.add("pretranslation.cached", count.cached);
  counters.add("pretranslation.merged", count.merged);
  counters.add("pretranslation.probes", count.probes);
  counters.add("pretranslation.entries", count.entries);
  counters.add("pretranslation.missing", count.missing);
  counters.add("pretranslation.used", count.used);
  counters.add("pretranslation.corrected", count.corrected);
  counters.add("pretranslation.walks", count.walks);
  counters.add("pretranslation.stale", count.stale);
  counters.add("pretranslation.updates", count.updates);
}

}  // namespace nearfar::sim::cpu
