#pragma once

#include <cstddef>
#include <cstdint>

#include "tier/pager/expected_groups.h"
#include "tier/pager/far_pages.h"
#include "tier/pager/recycled_groups.h"
#include "tier/pager/state.h"
#include "tier/pager/streams.h"
#include "tier/pager/whole_groups.h"

namespace nearfar::tier {

/// Groups of 2 MiB that have left as one huge page, and come back as one if read-ahead in order
/// runs into them: such a group is read into a huge page of staging memory, which one call moves to
/// its place. A huge page cannot take the place of a table for small pages, and a touch leaves such
/// a table behind, unless the kernel may have huge pages there. So it may, of the groups that are
/// expected next, and only of those, as it makes a huge page for each first write, in vain.
class IncomingGroups {
 public:
  IncomingGroups(PagerState& state, FarPages& far);

  /// Huge pages of staging memory that groups leave to, and that groups are read into.
  void use_staging(os::Place recycled, os::Place incoming);

  /// Whether the group that begins with this page, if one does, could come back as one.
  [[nodiscard]] bool comes_whole(PageNumber page) const;
  /// All of the group has left as one, so that the kernel has no table for its pages.
  void mark_unpopulated(PageNumber first) { unpopulated_.add(first); }
  /// A page of the group has come back or has other contents: it is not to come as it was.
  void mark_populated(PageNumber page) {
    if (unpopulated_.has(page)) populate(page);
  }

  /// Whether a stream will run into the group that begins with this page.
  [[nodiscard]] bool is_expected(PageNumber first) const { return expected_.has(first); }
  [[nodiscard]] bool expects_any() const { return expected_.any(); }
  /// A stream has come to here: it will run into this group next, if one begins here, or into one
  /// behind it, if all between is in RAM. It has run into `passed` expected groups so far. The
  /// place of the group `kept` is not taken.
  void expect_next(PageNumber from, std::size_t passed, PageNumber kept = no_page);
  /// Expects the group that begins with this page, whatever lies in it.
  void expect(PageNumber first, std::size_t passed, PageNumber kept = no_page);
  /// A group is expected no more, as it is in a window: the kernel keeps what it was advised.
  void leave_to_window(PageNumber first);
  /// A group that no stream has run into for many faults is expected no more; false if there is
  /// none.
  bool expect_old_no_more();

  /// Reads some of a group that is expected, so that the thread that touches it need not wait.
  /// False if nothing is to be read, or there is no room.
  [[nodiscard]] bool read_expected();
  /// Charges memory for a group, unless it has what another left. False if the budget has none.
  [[nodiscard]] bool charge_group();
  /// What came of a group.
  struct Arrived {
    std::size_t pages = 0;
    bool as_one = false;
    bool was_read = false;  ///< before it was touched
    bool retry = false;  ///< once messages have been read
  };
  /// An expected group that was touched is expected no more, but the one behind it is. Whether all
  /// it needs has been charged.
  [[nodiscard]] bool begin(PageNumber first);
  /// Moves the group to its place, when `begin` came before and it is charged. Pages that come stay
  /// charged.
  [[nodiscard]] Arrived bring_in(PageNumber first, os::Waking waking);

  /// What has been read of any group is given up, and memory that waits to be read to. Whether
  /// there was some.
  bool drop_all_read();
  /// Gives up the memory that waits for a group to come; false if there is none.
  bool drop_recycled();
  [[nodiscard]] bool has_recycled() const { return recycled_.has_spare(); }
  /// Keeps the memory of a group in limbo, which has been written, for the next that is read. It
  /// stays charged. False if no group is expected, or it cannot be moved.
  [[nodiscard]] bool recycle(std::size_t position);

  /// Whether 2 MiB of memory are one page.
  [[nodiscard]] bool is_huge(os::Place at) const;

 private:
  void populate(PageNumber page);
  [[nodiscard]] PageNumber next_whole(PageNumber from) const;
  [[nodiscard]] bool expect_further();
  void expect_no_more(ExpectedGroups::Group& group);
  [[nodiscard]] bool can_hold() const;
  [[nodiscard]] bool hold(ExpectedGroups::Group& group);
  void read(ExpectedGroups::Group& group, std::size_t pages);
  void drop_read(ExpectedGroups::Group& group);
  void drop_memory(os::Place memory);

  PagerState& state_;
  FarPages& far_;
  WholeGroups unpopulated_;
  ExpectedGroups expected_;
  RecycledGroups recycled_;
  os::Place incoming_ = 0;
};

}  // namespace nearfar::tier
