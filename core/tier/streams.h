#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tier/page_table.h"

namespace nearfar::tier {

/// How many pages to bring in at a fault. A fault just behind what an earlier one brought in
/// continues a stream, and doubles what is brought in; any other starts a stream with one page,
/// so that random access pays for nothing that it does not use.
class Streams {
 public:
  explicit Streams(std::size_t longest = 32) : longest_(longest) {}

  /// What to bring in from `page` on, at most.
  [[nodiscard]] std::size_t wanted(PageNumber page) const {
    for (const Stream& stream : streams_)
      if (stream.next == page) return stream.pace * 2 < longest_ ? stream.pace * 2 : longest_;
    return 1;
  }

  /// `count` pages from `page` on were brought in, where `pace` would have been but for what lies
  /// behind them. Returns how many pages that were brought in ahead of need are now known to have
  /// been of use.
  std::size_t brought(PageNumber page, std::size_t count, std::size_t pace) {
    ++clock_;
    Stream* oldest = streams_.data();
    for (Stream& stream : streams_) {
      if (stream.next == page) {
        const std::size_t useful = stream.ahead;
        stream = {static_cast<PageNumber>(page + count), pace, count - 1, clock_};
        return useful;
      }
      if (stream.used < oldest->used) oldest = &stream;
    }
    *oldest = {static_cast<PageNumber>(page + count), pace, count - 1, clock_};
    return 0;
  }

 private:
  struct Stream {
    PageNumber next = no_page;
    std::size_t pace = 0;
    std::size_t ahead = 0;  ///< of the last read-ahead, pages that nobody had asked for
    std::uint64_t used = 0;
  };
  std::array<Stream, 8> streams_{};
  std::size_t longest_;
  std::uint64_t clock_ = 0;
};

}  // namespace nearfar::tier
