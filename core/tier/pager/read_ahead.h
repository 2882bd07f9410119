#pragma once

#include <cstddef>
#include <cstdint>

#include "tier/pager/fault_windows.h"
#include "tier/pager/page_in.h"
#include "tier/pager/streams.h"
#include "tier/pager/zero_pages.h"

namespace nearfar::tier {

/// Brings in a missing page that was touched, with those that a stream of touches will want next.
class ReadAhead {
 public:
  struct Parts {
    PageIn& page_in;
    Eviction& eviction;
    Arrivals& arrivals;
    HugePages& huge;
    IncomingGroups& incoming;
    FaultWindows& windows;
    ZeroPages& zeros;
  };
  ReadAhead(PagerState& state, Parts parts);

  /// Brings in the page, and perhaps others beside it; more may follow. How many came; none if the
  /// page did not.
  [[nodiscard]] Filled bring_in(const Fault& fault);
  /// Lets a fresh page that is read be the kernel's page of zeros, perhaps with others behind it.
  [[nodiscard]] Filled show_zeros(const Fault& fault);
  /// Lets a thread write to a fresh page that is shown as zeros, perhaps with others behind it.
  [[nodiscard]] Filled replace_zeros(const Fault& fault);
  /// Brings in some pages that are to follow one that was touched; they stay away if there is no
  /// room for them. False if there are none.
  bool bring_in_more();
  /// No page is to follow any more.
  void stop() { streams_.stop(); }
  /// Streams begin anew, as long as the limit of near memory allows.
  void restart();

  /// Whether the page continues a stream, so that others are to come with it.
  [[nodiscard]] bool continues_stream(PageNumber page) const {
    return wanted(page).stream != Streams::most;
  }
  /// A page has come by itself that continues no stream.
  void count_alone(PageNumber page) { count({}, page, {.done = 1}); }

  /// Pages that have come so far beside one that was touched.
  [[nodiscard]] std::uint64_t came_ahead() const { return came_ahead_; }

 private:
  /// Of a run, `done` pages came in, `left` are to follow, and the next one of its stream is twice
  /// `pace`.
  struct Done {
    std::size_t done = 0;
    std::size_t left = 0;
    std::size_t pace = 1;
  };
  [[nodiscard]] Streams::Run wanted(PageNumber page) const {
    return streams_.wanted(page, [this](PageNumber other) { return state_.is_in_ram(other); });
  }
  [[nodiscard]] Filled bring_in_up(const Fault& fault, const Streams::Run& run);
  [[nodiscard]] Filled bring_in_down(const Fault& fault, const Streams::Run& run);
  [[nodiscard]] Filled bring_in_group(PageNumber first, os::Waking waking);
  [[nodiscard]] std::size_t bring_in_followers(PageNumber page, std::size_t wanted);
  [[nodiscard]] std::size_t length(PageNumber page, std::size_t wanted, State from,
                                   bool runs_on) const;
  void count(const Streams::Run& run, PageNumber page, const Done& done);
  void count_ahead(std::size_t pages) {
    came_ahead_ += pages;
    state_.control.add(Count::read_ahead, pages);
  }

  PagerState& state_;
  Parts parts_;
  Streams streams_;
  std::uint64_t came_ahead_ = 0;
};

}  // namespace nearfar::tier
