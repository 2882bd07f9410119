#include "sim/nvdimm/lazy_admission.h"

namespace nearfar::sim::nvdimm {

LazyAdmission::LazyAdmission(const Config& config, std::uint64_t wear_seed)
    : config_(*config.lazy),
      wear_writes_(config.wear.writes),
      block_(config.wear.block),
      of_block_(config.media.capacity / config.wear.block),
      moved_at_(config.media.capacity / config.wear.block),
      without_(config.wear, config.media.capacity, wear_seed) {}

double LazyAdmission::priority(std::uint64_t block) const {
  const auto writes = static_cast<double>(of_block_.get(block));
  if (config_.priority == LazyPriority::count) return writes / static_cast<double>(wear_writes_);
  return writes / static_cast<double>(writes_ - moved_at_.get(block));
}

bool LazyAdmission::judge(Address device) {
  const std::uint64_t block = device.block(block_);
  const bool admitted = priority(block) > config_.threshold;
  of_block_.at(block) = 0;
  moved_at_.at(block) = writes_;
  return admitted;
}

void LazyAdmission::count_sent(Address device) {
  if (const auto migration = without_.count_write(device)) {
    ++without_migrations_;
    static_cast<void>(without_.finish(migration->number));
  }
}

void LazyAdmission::register_counters(Counters& counters, const std::string& prefix) const {
  counters.add(prefix + "media_writes_avoided", absorbed_);
  counters.add(prefix + "write_backs", write_backs_);
  counters.add(prefix + "migrations_without", without_migrations_);
}

}  // namespace nearfar::sim::nvdimm
