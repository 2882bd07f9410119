#pragma once

#include <cstdint>
#include <vector>

#include "tier/swap/groups.h"
#include "tier/swap/os/process.h"

namespace nearfar::tier::swap {

/// What looks at the page tables have shown, in pages.
struct Changes {
  std::uint64_t first_touches = 0;     ///< came where nothing was
  std::uint64_t page_ins = 0;          ///< came where the page was in swap
  std::uint64_t kernel_evictions = 0;  ///< went to swap unasked
};

/// Told of what looks have shown.
class Listener {
 public:
  virtual ~Listener() = default;

  /// From now on, pages below `end` are named.
  virtual void room(PageIndex end) = 0;
  virtual void came(PageIndex page) = 0;
  /// It is unmapped, or in swap though the policy did not name it.
  virtual void gone(PageIndex page) = 0;
};

/// Which pages of a process were in RAM and which in swap at the last look, and what has changed
/// since.
///
/// Between two looks a page may come and go unseen. Pages that came between the same two looks are
/// told in order of address.
class Image {
 public:
  /// `owner`: the process, in the words of `groups`.
  Image(std::uint32_t owner, Groups& groups, Listener& listener)
      : owner_(owner), groups_(groups), listener_(listener) {}

  /// A look goes over the process's runs of pages in order of address, between `begin` and `end`.
  void begin();
  void add(const os::Run& run);
  void end(Changes& changes);

  /// The policy has named a page, and it is out.
  void left(PageIndex page);
  /// The process is gone: so are its pages.
  void clear();

  [[nodiscard]] std::uint64_t present() const { return present_; }
  [[nodiscard]] std::uint64_t swapped() const { return swapped_; }

 private:
  struct Entry {
    os::Place base = 0;
    std::uint64_t present = 0;  // one bit a page
    std::uint64_t swapped = 0;
    std::uint32_t group = 0;
  };

  void compare(const Entry& before, const Entry& now, Changes& changes);
  void count();

  std::uint32_t owner_;
  Groups& groups_;
  Listener& listener_;
  std::vector<Entry> entries_;  // by address
  std::vector<Entry> seen_;  // of the look that is under way
  std::uint64_t present_ = 0;
  std::uint64_t swapped_ = 0;
};

}  // namespace nearfar::tier::swap
