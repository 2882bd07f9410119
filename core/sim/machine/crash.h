#pragma once

#include <cstdint>
#include <functional>

#include "base/settings.h"
#include "sim/persistence/states.h"

namespace nearfar::sim {

/// Plays a program `runs` times on simulated memory, with other evictions and another pace each
/// time, and visits what a loss of power would leave at every instant between the question's two
/// labels: for every line what the memory's components hold of it (Device::durable), with eADR
/// what the caches hold. No state is visited twice. Returns how many there were.
///
/// The cores are simple on purpose: store buffers and write-combining buffers as the rules of
/// persistency require them (in places stricter: flushes keep their place among the stores), one
/// coherent cache that writes back whenever chance says so, one write of a line under way at a
/// time. Queues, buses and buffers behind them are the model's.
std::uint64_t visit_runs(const Settings& model, const persistence::Program& program,
                         const persistence::Question& question, std::uint32_t runs,
                         const persistence::Visitor& visit);

}  // namespace nearfar::sim
