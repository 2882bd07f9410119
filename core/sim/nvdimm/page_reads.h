#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/archive.h"
#include "base/tick.h"

namespace nearfar::sim::nvdimm {

/// Bounds how many blocks of one page are read from the media at once.
///
/// A translation serves so many reads; one more of its page waits until one of those has handed
/// its block over. Pages do not disturb each other. The places of pages are few, as many as have
/// a read under way, so a search of all of them is short.
///
/// A read that nothing waits for needs no event of its own: when it ends is noted, and looked at
/// when another read of the page comes.
class PageReads {
 public:
  using Index = std::uint32_t;
  static constexpr Index none = ~Index{0};

  /// `limit` reads a page; 0: any number.
  explicit PageReads(std::uint32_t limit) : limit_(limit) {}

  [[nodiscard]] bool limited() const { return limit_ != 0; }

  /// The place of a page, a new one if none of its blocks is read or waits.
  Index place_of(std::uint64_t page, Tick now) {
    const auto known = std::find(pages_.begin(), pages_.end(), page);
    if (known != pages_.end()) return static_cast<Index>(known - pages_.begin());
    const Index place = free_place(now);
    places_[place].ends.clear();
    pages_[place] = page;
    return place;
  }

  /// Whether one more may be read; not whether others wait, whose turn it would be.
  [[nodiscard]] bool has_room(Index place, Tick now) {
    Place& at = places_[place];
    if (at.reads() < limit_) return true;
    at.forget_ended(now);
    return at.reads() < limit_;
  }
  /// The media are asked for a block of the page.
  void ask(Index place) { ++places_[place].asked; }
  /// They read it, and hand it over at `end`.
  void start(Index place, Tick end) {
    Place& at = places_[place];
    --at.asked;
    at.ends.push_back(end);
    at.last_end = max(at.last_end, end);
  }

  /// The first and the last that wait for a read of the page to end, in order.
  [[nodiscard]] Index& first_waiting(Index place) { return places_[place].first_waiting; }
  [[nodiscard]] Index& last_waiting(Index place) { return places_[place].last_waiting; }

  /// When to look at those that wait, if that has not been said yet; else Tick::never().
  [[nodiscard]] Tick next_look(Index place) {
    Place& at = places_[place];
    if (at.first_waiting == none || at.ends.empty()) return Tick::never();
    const Tick end = *std::min_element(at.ends.begin(), at.ends.end());
    if (at.looked_at <= end) return Tick::never();
    return at.looked_at = end;
  }
  /// The time that next_look() said has come.
  void look(Index place) { places_[place].looked_at = Tick::never(); }

  void state(Archive& archive) { archive(pages_, places_, latest_); }

 private:
  struct Place {
    std::uint32_t asked = 0;  ///< reads that the media have not begun
    std::vector<Tick> ends;   ///< of the others, some of them past
    Tick last_end{};
    Tick looked_at = Tick::never();  ///< when those that wait are looked at next
    Index first_waiting = none;
    Index last_waiting = none;

    [[nodiscard]] std::uint32_t reads() const {
      return asked + static_cast<std::uint32_t>(ends.size());
    }
    [[nodiscard]] bool is_free(Tick now) const {
      return asked == 0 && first_waiting == none && last_end <= now;
    }
    void forget_ended(Tick now) {
      std::erase_if(ends, [now](Tick end) { return end <= now; });
    }
    void state(Archive& archive) {
      archive(asked, ends, last_end, looked_at, first_waiting, last_waiting);
    }
  };

  /// The search goes on from the place that was found last: those after it are the oldest.
  Index free_place(Tick now) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (++latest_ >= places_.size()) latest_ = 0;
      if (places_[latest_].is_free(now)) return latest_;
    }
    latest_ = static_cast<Index>(places_.size());
    places_.emplace_back();
    pages_.push_back(no_page);
    return latest_;
  }

  static constexpr std::uint64_t no_page = ~std::uint64_t{0};

  std::uint32_t limit_;
  std::vector<std::uint64_t> pages_;  ///< by place, as the two are searched apart
  std::vector<Place> places_;
  Index latest_ = 0;
};

}  // namespace nearfar::sim::nvdimm
