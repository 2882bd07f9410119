#pragma once

#include <cstdint>

#include "base/settings.h"
#include "base/tick.h"

namespace nearfar::sim::cpu {

/// What a core that runs programs has, besides what Config says of its way to memory.
struct CoreConfig {
  enum class Kind : std::uint8_t { window, simple };

  Kind kind = Kind::window;
  Tick period{};                ///< of its clock
  std::uint32_t width = 1;      ///< issue slots a cycle, and as many retire
  std::uint32_t rob = 1;        ///< reorder buffer, in issue slots
  std::uint32_t loads = 1;      ///< load queue
  std::uint32_t stores = 1;     ///< store queue
  Tick forward{};               ///< a load that finds its data in the store queue
  Tick branch_penalty{};        ///< from a mispredicted branch's execution to what follows it
  std::uint32_t branch_targets = 1;  ///< of each of the predictor's tables; a power of two
  bool wrong_path = false;  ///< after a wrong guess, until it is known, what follows is loaded for
  Tick quantum{};  ///< how far a thread's input may run ahead of the others'
  bool short_way = true;  ///< of most instructions; false: all go the general way, as tests want

  /// Reads the keys below `cpu.`; throws InputError when one is missing.
  [[nodiscard]] static CoreConfig from(const Settings& settings);
};

}  // namespace nearfar::sim::cpu
