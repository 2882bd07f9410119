#pragma once

#include <atomic>
#include <cstddef>

#include "tier/os/system.h"
#include "tier/pager/extents.h"
#include "tier/preload/protection.h"
#include "tier/service/lock.h"
#include "tier/service/service.h"

namespace nearfar::tier {

/// The managed addresses as a program sees them: it maps and unmaps parts of one region that is
/// reserved once. What is free is there but may not be touched, so that the kernel neither joins
/// the region with its neighbours nor moves any of it.
///
/// Parts of it may be mappings of another kind, *foreign* ones, which are the kernel's matter.
///
/// Called by the program's threads. The lock is never held while the pager is asked for something:
/// a fork holds it while the pager waits.
class Space {
 public:
  Space(os::Place base, std::size_t length, Extents free, Service& service);

  [[nodiscard]] bool holds(os::Place begin, std::size_t length) const {
    return begin >= base_ && begin < end_ && length <= end_ - begin;
  }
  [[nodiscard]] bool touches(os::Place begin, std::size_t length) const {
    return begin < end_ && (begin >= base_ || length > base_ - begin);
  }
  [[nodiscard]] os::Place base() const { return base_; }
  [[nodiscard]] os::Place end() const { return end_; }
  /// Whether some of it is.
  [[nodiscard]] bool is_free(os::Place begin, std::size_t length);
  /// Whether the program has mapped the page at `at` here.
  [[nodiscard]] bool has(os::Place at) {
    const os::Place page = at / os::page_bytes * os::page_bytes;
    return holds(page, os::page_bytes) && !is_free(page, os::page_bytes);
  }
  [[nodiscard]] bool is_foreign(os::Place begin, std::size_t length);
  /// Whether all of it is.
  [[nodiscard]] bool is_all_foreign(os::Place begin, std::size_t length);

  /// mprotect of what may be managed. What becomes executable is released.
  [[nodiscard]] long protect(os::Place at, std::size_t length, int protection);
  /// Fresh memory; -errno if there is none. Lengths are in whole pages from here on.
  [[nodiscard]] long map(std::size_t length, int protection);
  /// The same at free addresses; -EEXIST if some of them are not.
  [[nodiscard]] long map_free(os::Place at, std::size_t length, int protection);
  /// Fresh memory in place of what is there.
  [[nodiscard]] long map_fixed(os::Place at, std::size_t length, int protection);
  /// The same, of memory that grows downwards (MAP_GROWSDOWN), as far as what lies below is free.
  [[nodiscard]] long map_growing(os::Place at, std::size_t length, int protection);
  /// A mapping of another kind in place of what is there, which stays if that cannot be made. The
  /// length is as it was asked for.
  [[nodiscard]] long map_foreign(os::Place at, std::size_t asked, int protection, int flags,
                                 int descriptor, long offset);
  void unmap(os::Place at, std::size_t length);
  /// -EINVAL if the program has locked some of it.
  [[nodiscard]] long discard(os::Place at, std::size_t length);
  /// What the program has locked is given back, too, and what comes in its place is locked.
  void discard_locked(os::Place at, std::size_t length);
  /// mremap of managed memory to managed memory.
  [[nodiscard]] long remap(os::Place from, std::size_t old_length, std::size_t new_length,
                           int flags, os::Place fixed);
  /// mremap of a foreign mapping, which stays one; `fixed` may lie outside.
  [[nodiscard]] long remap_foreign(os::Place from, std::size_t old_length, std::size_t new_length,
                                   int flags, os::Place fixed);
  /// mremap of a mapping that lies outside to managed addresses, where it is a foreign one.
  [[nodiscard]] long take_in(os::Place from, std::size_t old_length, std::size_t new_length,
                             os::Place to);

  [[nodiscard]] Lock& lock() { return lock_; }
  [[nodiscard]] Protections& protections() { return protections_; }
  /// Whether the program may not read or not write some of it, or once might not.
  [[nodiscard]] bool protects() const { return protects_.load(std::memory_order_relaxed); }

 private:
  /// The memory becomes a foreign mapping with the contents that it has, unless there can be no
  /// more of those; then it stays managed.
  void release(os::Place at, std::size_t length);
  void clear(os::Place at, std::size_t length);
  [[nodiscard]] bool cover(os::Place at, std::size_t length);
  [[nodiscard]] os::Place take(std::size_t length);
  [[nodiscard]] bool claim(os::Place begin, os::Place end);
  [[nodiscard]] std::size_t claim_below(os::Place at, std::size_t most);
  void give(os::Place at, std::size_t length);
  [[nodiscard]] long open(os::Place at, std::size_t length, int protection);
  [[nodiscard]] long map_taken(os::Place at, std::size_t length, int protection);
  [[nodiscard]] bool grow_foreign(os::Place at, std::size_t old_length, std::size_t new_length);
  [[nodiscard]] long put(os::Place lifted, std::size_t length, os::Place to);

  os::Place base_;
  os::Place end_;
  Extents free_;
  Extents foreign_;
  Lock lock_{};
  Protections protections_;
  std::atomic<bool> protects_{false};  // some of it was once less than readable and writable
  Service& service_;
};

}  // namespace nearfar::tier
