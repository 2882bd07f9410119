#pragma once

#include <cstdint>
#include <optional>

#include "base/address.h"
#include "base/settings.h"
#include "base/tick.h"

namespace nearfar::sim::nvdimm {

struct Config;

/// What the AIT says of a block that moves, from its record of writes.
enum class LazyPriority : std::uint8_t {
  rate,  ///< the block's media writes since it last moved over those of the whole DIMM meanwhile
  count,  ///< the block's media writes since it last moved over `wear.writes`: about 1 for all
};

/// The Lazy cache (MICRO 2020, section V): two inclusive levels of SRAM before the RMW buffer.
struct LazyConfig {
  struct Level {
    std::uint32_t entries = 0;
    Tick latency{};  ///< of an access, for which the level is busy
  };
  Level lz1;  ///< of lines
  Level lz2;  ///< of entries
  Bytes entry = 0;  ///< of LZ2
  LazyPriority priority = LazyPriority::rate;
  double threshold = 0;  ///< a line is admitted when its block's priority is above
  Tick age{};  ///< an entry that took no write for so long leaves; 0: when it must
  double access_pj = 0;  ///< a line read or written in one of the levels
};

/// Reads the keys below `nvdimm.lazy.`: nothing where it is off. `config` is the DIMM without it.
/// Throws InputError when a value is impossible or the DIMM keeps no wear records.
[[nodiscard]] std::optional<LazyConfig> lazy_config_from(const Settings& settings,
                                                         const Config& config);

}  // namespace nearfar::sim::nvdimm
