// How pages leave where the kernel cannot move them (before Linux 6.8): nobody can write to them
// while they are copied out of their place, and then they are dropped from it.
//
// Who has a page pinned writes to it all the same, and what comes after the copy is lost: the
// kernel does not tell who has. Refused is what it refuses to drop: locked memory.

#include <algorithm>

#include "tier/pager/pager.h"

namespace nearfar::tier {

using os::page_bytes;

/// Copies pages side by side to staging memory and drops them where they were; how many bytes, and
/// why no more. -ENOENT: the program gave the first one back by a system call of its own.
os::Moved Pager::copy_to(os::Place to, os::Place from, std::size_t length) const {
  // So many lie twice in memory for a moment.
  constexpr std::size_t most = 16 * page_bytes;
  length = std::min(length, most);
  if (const long error = uffd_.protect(from, length); error != 0) {
    if (length > page_bytes) return copy_to(to, from, page_bytes);  // the run left the mapping
    return {0, error};
  }
  const std::size_t copied = memory_.read(from, os::pointer(to), length);
  std::size_t dropped = copied;
  if (copied != 0 && memory_.advise(from, copied, MADV_DONTNEED) != 0) {
    dropped = 0;
    while (dropped < copied && memory_.advise(from + dropped, page_bytes, MADV_DONTNEED) == 0)
      dropped += page_bytes;
  }
  if (dropped < length) {
    uffd_.unprotect(from + dropped, length - dropped, os::Waking::at_once);
    memory_.advise(to + dropped, length - dropped, MADV_DONTNEED);
  }
  if (dropped != 0) return {dropped, 0};
  return {0, is_nowhere(from) ? -ENOENT : -EINVAL};
}

/// Whether a resident page is nowhere any more, not swapped out either: then zeros can be put
/// there.
bool Pager::is_nowhere(os::Place at) const {
  alignas(page_bytes) static constexpr unsigned char zeros[page_bytes] = {};
  if (uffd_.copy(at, zeros, page_bytes).bytes == 0) return false;
  memory_.advise(at, page_bytes, MADV_DONTNEED);
  return true;
}

/// Gives memory back. Nothing tells of that here, so that no thread but the pager's may do it.
bool Pager::drop(os::Place begin, os::Place end) {
  // The kernel first: a page must not be counted as gone before it is.
  if (memory_.advise(begin, end - begin, MADV_DONTNEED) == -EINVAL) return false;
  uncharge(discard(begin, end));
  return true;
}

}  // namespace nearfar::tier
