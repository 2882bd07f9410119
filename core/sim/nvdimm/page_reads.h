#pragma once

#include <cstdint>
#include <vector>

#include "base/archive.h"

namespace nearfar::sim::nvdimm {

/// Bounds how many blocks of one page are read from the media at once.
///
/// A translation serves so many reads; one more of its page waits until one of those has handed
/// its block over. Pages do not disturb each other. The places of pages are few, as many as have
/// a read under way, so a search of all of them is short.
class PageReads {
 public:
  using Index = std::uint32_t;
  static constexpr Index none = ~Index{0};

  /// `limit` reads a page; 0: any number.
  explicit PageReads(std::uint32_t limit) : limit_(limit) {}

  [[nodiscard]] bool limited() const { return limit_ != 0; }

  /// The place of a page, a new one if none of its blocks is read or waits.
  Index place_of(std::uint64_t page) {
    Index free = none;
    for (Index i = 0; i < places_.size(); ++i) {
      if (places_[i].reads == 0) {
        free = i;
      } else if (places_[i].page == page) {
        return i;
      }
    }
    if (free == none) {
      free = static_cast<Index>(places_.size());
      places_.emplace_back();
    }
    places_[free].page = page;
    return free;
  }

  [[nodiscard]] bool is_full(Index place) const { return places_[place].reads == limit_; }
  void start(Index place) { ++places_[place].reads; }

  /// The first and the last that wait for a read of the page to end, in order.
  [[nodiscard]] Index& first_waiting(Index place) { return places_[place].first_waiting; }
  [[nodiscard]] Index& last_waiting(Index place) { return places_[place].last_waiting; }

  void finish(Index place) { --places_[place].reads; }

  void state(Archive& archive) { archive(places_); }

 private:
  struct Place {
    std::uint64_t page = 0;
    std::uint32_t reads = 0;
    Index first_waiting = none;
    Index last_waiting = none;

    void state(Archive& archive) { archive(page, reads, first_waiting, last_waiting); }
  };

  std::uint32_t limit_;
  std::vector<Place> places_;
};

}  // namespace nearfar::sim::nvdimm
