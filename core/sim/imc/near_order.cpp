#include "sim/imc/near_memory.h"

namespace nearfar::sim::imc {

// Flights lie in chains by set, in order of arrival. Different sets may share a chain; they
// do not concern each other.

[[gnu::noinline]] void NearMemory::enter_behind(Index index, Tick now) {
  Index* end = &chain_of(flights_[index].set);
  while (*end != no_flight) end = &flights_[*end].next;
  *end = index;
  static_cast<void>(try_start(index, now));
}

/// Starts the flight unless something before it in its set stands in the way.
bool NearMemory::try_start(Index index, Tick now) {
  const Flight& flight = flights_[index];
  const bool writes = flight.request.op == Op::write && !flight.prefetch;
  bool alone = true;
  for (Index at = chain_of(flight.set); at != index; at = flights_[at].next) {
    const Flight& other = flights_[at];
    if (other.set != flight.set) continue;
    alone = false;
    if (other.outcome != Case::read_hit && other.outcome != Case::write_hit) return false;
    const bool same = other.line == flight.line && other.block == flight.block;
    if (same && (writes || other.outcome == Case::write_hit)) return false;
  }
  const std::uint32_t way = directory_.find(flight.line, flight.set);
  if (way == NearDirectory::none && !alone) return false;
  start(index, way, now);
  return true;
}

/// Takes a finished flight out and starts those of its set whose turn has come.
[[gnu::noinline]] void NearMemory::leave_others(Index index, Tick now) {
  const std::uint64_t set = flights_[index].set;
  Index& first = chain_of(set);
  Index* link = &first;
  while (*link != index) link = &flights_[*link].next;
  *link = flights_[index].next;
  for (Index at = first; at != no_flight; at = flights_[at].next) {
    const Flight& other = flights_[at];
    if (other.set == set && other.outcome == Case::waiting && !try_start(at, now)) return;
  }
}

}  // namespace nearfar::sim::imc
