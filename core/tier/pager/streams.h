#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "tier/pager/page_table.h"
#include "tier/pager/sizes.h"

namespace nearfar::tier {

/// How many pages to bring in at a fault. A fault just behind what an earlier one brought in, but
/// for pages that are near anyway, continues a stream, and doubles what is brought in; any other
/// starts a stream with one page, so that random access pays for nothing that it does not use.
///
/// A stream may also go down: glibc's memcpy does where it would else write what it is about to
/// read but for the highest bits of the address, as between two large blocks. The second fault says
/// which way it goes. What is brought in then comes with the page that was touched, all at once.
///
/// A thread waits for the first of these pages only: the others follow while it goes on. Where
/// it is faster, or the pager does not run beside it, it faults at the first that has not come.
/// Then it waits for more at once from the next time on, as each fault costs more than a few pages.
class Streams {
 public:
  static constexpr std::size_t most = 8;
  /// A fault this far behind what came last still continues a stream, if all between is near.
  static constexpr std::size_t farthest = 4096;

  /// What a fault brings in.
  struct Run {
    std::size_t stream = most;  ///< that it continues; `most`: none
    std::size_t pages = 1;
    std::size_t at_once = 1;  ///< of these, before the waiting thread goes on
    std::size_t pace = 1;  ///< all that was to come since the last fault that waited for nothing
    bool down = false;  ///< they end with the page that was touched, and do not begin with it
  };
  /// Pages to bring in that no thread waits for.
  struct Part {
    PageNumber first = no_page;
    std::size_t count = 0;
  };

  /// At most so many pages at a fault.
  explicit Streams(std::size_t longest = 1) : longest_(std::max<std::size_t>(longest, 1)) {}

  /// What to bring in with `page`, at most, if `near` tells of other pages whether they are.
  template <class Near>
  [[nodiscard]] Run wanted(PageNumber page, const Near& near) const {
    for (std::size_t i = 0; i < most; ++i) {
      const Stream& stream = streams_[i];
      if (page < stream.next || page - stream.next >= farthest) continue;
      PageNumber between = stream.next;
      while (between < page && near(between)) ++between;
      if (between != page) continue;
      const std::size_t passed = page - stream.next;
      const bool caught = stream.left > passed;
      const std::size_t pace = caught ? stream.pace : std::min(2 * stream.pace, longest_);
      const std::size_t pages = caught ? stream.left - passed : pace;
      const std::size_t at_once = caught ? longest_run : stream.step();
      return {i, pages, std::min(pages, at_once), pace};
    }
    for (std::size_t i = 0; i < most; ++i) {
      if (!goes_down(streams_[i], page, near)) continue;
      const std::size_t pages = std::min({2 * streams_[i].pace, longest_, longest_run});
      return {i, pages, pages, pages, true};
    }
    return {};
  }

  /// `count` pages, of which `page` is the first, were brought in, as `run` says or fewer, and
  /// `left` behind these are to follow; what is brought in at the next fault is twice `pace`.
  /// Returns how many pages that were brought in ahead of need are now known to have been of use.
  std::size_t brought(const Run& run, PageNumber page, std::size_t count, std::size_t left,
                      std::size_t pace) {
    ++clock_;
    const bool continues = run.stream != most;
    Stream& stream = continues ? streams_[run.stream] : oldest();
    const std::size_t useful = continues ? stream.ahead : 0;
    const bool caught = continues && run.pages != run.pace;
    const bool outrun = continues && (caught || stream.caught);
    const auto next = static_cast<PageNumber>(page + count);
    const PageNumber first = run.down || count == 1 ? page : no_page;
    stream = {next, first, left, pace, count - 1, clock_, caught, outrun};
    return useful;
  }

  /// The next of the pages that are to follow, of each stream in turn.
  [[nodiscard]] Part next_part() {
    for (std::size_t i = 0; i < most; ++i) {
      turn_ = (turn_ + 1) % most;
      const Stream& stream = streams_[turn_];
      if (stream.left != 0) return {stream.next, std::min(stream.left, stream.step())};
    }
    return {};
  }
  /// That part is over as far as `passed` pages, of which so many `came` and the others were near;
  /// if there were none, nothing more is to follow.
  void advance(std::size_t passed, std::size_t came) {
    Stream& stream = streams_[turn_];
    stream.next = static_cast<PageNumber>(stream.next + passed);
    stream.left = passed == 0 ? 0 : stream.left - passed;
    stream.ahead += came;
  }
  /// Nothing is to follow any more.
  void stop() {
    for (Stream& stream : streams_) stream.left = 0;
  }

 private:
  struct Stream {
    PageNumber next = no_page;
    PageNumber first = no_page;  ///< of what came last, if it may go down from there
    std::size_t left = 0;  ///< to follow, from `next` on
    std::size_t pace = 0;
    std::size_t ahead = 0;  ///< of the last read-ahead, pages that no thread had asked for
    std::uint64_t used = 0;
    bool caught = false;  ///< a thread has faulted at what was to follow, since that began
    bool outrun = false;  ///< the same, or the time before

    [[nodiscard]] std::size_t step() const { return outrun ? longest_run : longest_run / 2; }
  };

  template <class Near>
  [[nodiscard]] static bool goes_down(const Stream& stream, PageNumber page, const Near& near) {
    if (stream.first == no_page || page >= stream.first || stream.first - page > farthest)
      return false;
    PageNumber between = stream.first - 1;
    while (between > page && near(between)) --between;
    return between == page;
  }
  [[nodiscard]] Stream& oldest() {
    const auto earlier = [](const Stream& a, const Stream& b) { return a.used < b.used; };
    return *std::min_element(streams_.begin(), streams_.end(), earlier);
  }

  std::array<Stream, most> streams_{};
  std::size_t longest_;
  std::uint64_t clock_ = 0;
  std::size_t turn_ = 0;
};

}  // namespace nearfar::tier
