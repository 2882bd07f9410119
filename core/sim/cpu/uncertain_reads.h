#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/slab.h"
#include "sim/cpu/hierarchy.h"

namespace nearfar::sim::cpu {

/// Reads that leave a core by a translation that is not checked, from then until it is, and how
/// many of them the memory controllers hold. Those beyond `limit` wait before them: else they could
/// take every place of a queue through which the walks go that they wait for.
class UncertainReads {
 public:
  using Index = std::uint32_t;
  enum class Place : std::uint8_t {
    on_way,  ///< to the controller
    before,  ///< it, for there are too many
    sent,
  };
  struct Read {
    Hierarchy::Miss miss = 0;
    Index flight = 0;
    Place place = Place::on_way;
  };

  explicit UncertainReads(std::uint32_t limit) : limit_(limit) {}

  void launched(Hierarchy::Miss miss, Index flight) { reads_.push_back({miss, flight}); }

  /// The read has come to the controller: whether it may enter.
  bool may_enter(Index flight) {
    const auto read = std::find_if(reads_.begin(), reads_.end(),
                                   [&](const Read& one) { return one.flight == flight; });
    read->place = sent_ < limit_ ? Place::sent : Place::before;
    sent_ += read->place == Place::sent ? 1 : 0;
    return read->place == Place::sent;
  }

  /// What follows from resolutions: each read is no longer uncertain, a wrong one is given up, and
  /// a right one that waits before the controller is sent. `tell(flight, right)` tells a controller
  /// of one that it has, `send(flight)` sends.
  template <typename Flight, typename Tell, typename Send>
  void settle(const std::vector<Hierarchy::Resolution>& resolutions, Slab<Flight>& flights,
              const Tell& tell, const Send& send) {
    for (const Hierarchy::Resolution& resolution : resolutions) {
      const Read read = resolved(resolution.miss);
      if (read.place == Place::sent) tell(read.flight, resolution.right);
      Flight& flight = flights[read.flight];
      flight.marks &= static_cast<pretranslation::Marks>(~pretranslation::uncertain);
      flight.given_up = !resolution.right;
      if (flight.given_up && read.place != Place::on_way) flights.give_back(read.flight);
      if (!flight.given_up && read.place == Place::before) send(read.flight);
    }
  }

 private:
  /// The read of a miss, which is uncertain no longer.
  Read resolved(Hierarchy::Miss miss) {
    const auto found = std::find_if(reads_.begin(), reads_.end(),
                                    [&](const Read& one) { return one.miss == miss; });
    const Read read = *found;
    reads_.erase(found);
    sent_ -= read.place == Place::sent ? 1 : 0;
    return read;
  }

  std::uint32_t limit_;
  std::uint32_t sent_ = 0;
  std::vector<Read> reads_;
};

}  // namespace nearfar::sim::cpu
