#include "tier/preload/space.h"

#include <sys/resource.h>

#include <algorithm>
#include <mutex>

namespace nearfar::tier {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20U;
constexpr std::size_t most_foreign = 8192;  // more than the pager lets be

/// Allocators want large pieces aligned, and would map twice as much to find such a place.
std::size_t alignment(std::size_t length) {
  if (length >= 32 * mib) return 32 * mib;
  return length >= 2 * mib ? 2 * mib : os::page_bytes;
}

/// The pages that a mapping takes; huge ones come whole.
std::size_t unit(int flags) {
  if ((flags & MAP_HUGETLB) == 0) return os::page_bytes;
  const auto logarithm = static_cast<unsigned>(flags) >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;
  return logarithm == 0 ? 2 * mib : std::size_t{1} << logarithm;
}

/// The kernel's own mremap, of what is not managed.
long remap_mapping(os::Place from, std::size_t old_length, std::size_t new_length, int flags,
                   os::Place to) {
  return os::call(__NR_mremap, os::word(from), os::word(old_length), os::word(new_length), flags,
                  os::word(to));
}

long move_mapping(os::Place from, std::size_t old_length, std::size_t new_length, os::Place to) {
  return remap_mapping(from, old_length, new_length, MREMAP_MAYMOVE | MREMAP_FIXED, to);
}

}  // namespace

Space::Space(os::Place base, std::size_t length, Extents free, Service& service)
    : base_(base),
      end_(base + length),
      free_(free),
      foreign_(os::reserve_array<Extents::Extent>(
                   most_foreign, "no memory for the list of mappings (ulimit -v, ulimit -d)"),
               most_foreign),
      service_(service) {
  (void)free_.add(base_, end_);
  protections_.open();
}

bool Space::is_free(os::Place begin, std::size_t length) {
  const os::SignalsBlocked blocked;
  const std::lock_guard guard(lock_);
  return free_.overlaps(begin, begin + length);
}

bool Space::is_foreign(os::Place begin, std::size_t length) {
  const os::SignalsBlocked blocked;
  const std::lock_guard guard(lock_);
  return foreign_.overlaps(begin, begin + length);
}

bool Space::is_all_foreign(os::Place begin, std::size_t length) {
  const os::SignalsBlocked blocked;
  const std::lock_guard guard(lock_);
  return foreign_.contains(begin, begin + length);
}

os::Place Space::take(std::size_t length) {
  const os::SignalsBlocked blocked;
  const std::lock_guard guard(lock_);
  return free_.take(length, alignment(length));
}

/// False, and nothing is taken, if some of it is not free.
bool Space::claim(os::Place begin, os::Place end) {
  const os::SignalsBlocked blocked;
  const std::lock_guard guard(lock_);
  if (!free_.contains(begin, end)) return false;
  (void)free_.remove(begin, end);
  return true;
}

void Space::give(os::Place at, std::size_t length) {
  const os::SignalsBlocked blocked;
  const std::lock_guard guard(lock_);
  (void)free_.add(at, at + length);
}

void Space::release(os::Place at, std::size_t length) {
  const os::Place end = at + length;
  while (at < end) {
    Extents::Extent own;
    {
      const os::SignalsBlocked blocked;
      const std::lock_guard guard(lock_);
      own = foreign_.gap(at, end);
    }
    at = own.end;
    const Request request{.kind = Request::Kind::release, .begin = own.begin, .end = own.end};
    if (own.begin >= own.end || !service_.ask(request)) continue;
    const os::SignalsBlocked blocked;
    const std::lock_guard guard(lock_);
    (void)foreign_.add(own.begin, own.end);
  }
}

/// A just-in-time compiler writes code and then makes it executable. The kernel moves no such page,
/// so that it would be asked to leave again and again.
long Space::protect(os::Place at, std::size_t length, int protection) {
  if ((protection & PROT_EXEC) != 0) release(at, length);
  if (protection != (PROT_READ | PROT_WRITE)) protects_.store(true);
  return os::protect(at, length, protection);
}

/// What was free is the program's, and belongs to a core dump: the kernel looks at each page of all
/// that does.
long Space::open(os::Place at, std::size_t length, int protection) {
  os::advise(at, length, MADV_DODUMP);
  return protect(at, length, protection);
}

/// What was free until now, and is clean.
long Space::map_taken(os::Place at, std::size_t length, int protection) {
  const long error = open(at, length, protection);
  if (error == 0) return static_cast<long>(at);
  give(at, length);
  return error;
}

long Space::map(std::size_t length, int protection) {
  const os::Place at = take(length);
  return at == 0 ? -ENOMEM : map_taken(at, length, protection);
}

long Space::map_free(os::Place at, std::size_t length, int protection) {
  return claim(at, at + length) ? map_taken(at, length, protection) : -EEXIST;
}

long Space::map_fixed(os::Place at, std::size_t length, int protection) {
  {
    const os::SignalsBlocked blocked;
    const std::lock_guard guard(lock_);
    (void)free_.remove(at, at + length);
  }
  clear(at, length);
  const long error = open(at, length, protection);
  return error == 0 ? static_cast<long>(at) : error;
}

/// Free addresses below `at`, `most` bytes of them or fewer, are taken; how many. As below a stack,
/// some stay free between them and what the program has mapped there.
std::size_t Space::claim_below(os::Place at, std::size_t most) {
  constexpr std::size_t gap = 256 * os::page_bytes;
  const os::SignalsBlocked blocked;
  const std::lock_guard guard(lock_);
  const std::size_t i = free_.find(at - os::page_bytes);
  if (i == free_.size() || free_[i].begin >= at) return 0;
  const os::Place lowest = free_[i].begin == base_ ? base_ : free_[i].begin + gap;
  if (lowest >= at) return 0;
  const std::size_t length = std::min(most, at - lowest);
  (void)free_.remove(at - length, at);
  return length;
}

/// Below it lies reserved memory, into which the kernel does not let it grow. So all that it may
/// grow by, the size of a stack (RLIMIT_STACK), is opened with it.
long Space::map_growing(os::Place at, std::size_t length, int protection) {
  const long made = map_fixed(at, length, protection);
  if (made < 0) return made;
  constexpr std::size_t most = std::size_t{1} << 30U;
  rlimit stack{};
  os::call(__NR_prlimit64, 0, RLIMIT_STACK, 0, os::word(&stack));
  const std::size_t whole = std::min<std::size_t>(stack.rlim_cur, most);
  if (whole <= length) return made;
  const std::size_t room = claim_below(at, (whole - length) / os::page_bytes * os::page_bytes);
  if (room != 0 && open(at - room, room, protection) != 0) give(at - room, room);
  return made;
}

/// It is made elsewhere first, as the kernel unmaps what is in its way before it looks whether it
/// can be made.
long Space::map_foreign(os::Place at, std::size_t asked, int protection, int flags, int descriptor,
                        long offset) {
  const std::size_t whole = unit(flags);
  const std::size_t length = (asked + whole - 1) / whole * whole;
  if (at % whole != 0) return -EINVAL;
  if (!holds(at, length)) return -ENOMEM;
  const long trial = os::map(0, asked, protection, flags & ~MAP_FIXED, descriptor, offset);
  if (trial < 0) return trial;
  const auto made = static_cast<os::Place>(trial);
  if (!cover(at, length)) {
    os::unmap(made, length);
    return -ENOMEM;
  }
  if (move_mapping(made, length, length, at) >= 0) return static_cast<long>(at);
  os::unmap(made, length);  // some drivers' mappings cannot move
  const long placed = os::map(at, asked, protection, flags, descriptor, offset);
  if (placed < 0) unmap(at, length);
  return placed;
}

/// Nothing is managed there from now on. False, and all is as it was, if the pager cannot have it
/// so.
bool Space::cover(os::Place at, std::size_t length) {
  if (!service_.ask({.kind = Request::Kind::cover, .begin = at, .end = at + length})) return false;
  const os::SignalsBlocked blocked;
  const std::lock_guard guard(lock_);
  (void)free_.remove(at, at + length);
  (void)foreign_.add(at, at + length);
  return true;
}

void Space::unmap(os::Place at, std::size_t length) {
  os::protect(at, length, PROT_NONE);  // from now on a touch is an error, as without us
  os::advise(at, length, MADV_DONTDUMP);
  clear(at, length);
  give(at, length);
}

/// Nothing is left of what was there.
void Space::clear(os::Place at, std::size_t length) {
  {
    const os::SignalsBlocked blocked;
    const std::lock_guard guard(lock_);
    (void)foreign_.remove(at, at + length);
  }
  service_.ask({.kind = Request::Kind::uncover, .begin = at, .end = at + length});
  if (discard(at, length) == 0) return;
  os::call(__NR_munlock, os::word(at), os::word(length));
  if (discard(at, length) != 0) os::fail("memory cannot be given back");
}

long Space::discard(os::Place at, std::size_t length) {
  return service_.discard(at, at + length) == -EINVAL ? -EINVAL : 0;
}

void Space::discard_locked(os::Place at, std::size_t length) {
  if (discard(at, length) == 0) return;
  os::call(__NR_munlock, os::word(at), os::word(length));
  (void)discard(at, length);
  constexpr long on_fault = 1;  // MLOCK_ONFAULT: pages are locked when they come
  os::call(__NR_mlock2, os::word(at), os::word(length), on_fault);
}

long Space::remap(os::Place from, std::size_t old_length, std::size_t new_length, int flags,
                  os::Place fixed) {
  constexpr int writable = PROT_READ | PROT_WRITE;
  const bool moves_to = (flags & MREMAP_FIXED) != 0;
  if (!moves_to && new_length < old_length) unmap(from + new_length, old_length - new_length);
  if (!moves_to && new_length <= old_length) return static_cast<long>(from);
  // The kernel has to be asked line by line, which takes long where mappings are many.
  const int known = protects_.load() ? protections_.of(from) : writable;
  const int protection = known < 0 ? writable : known;
  if (!moves_to && claim(from + old_length, from + new_length)) {
    const long error = open(from + old_length, new_length - old_length, protection);
    if (error == 0) return static_cast<long>(from);
    give(from + old_length, new_length - old_length);
    return error;
  }
  if (!moves_to && (flags & MREMAP_MAYMOVE) == 0) return -ENOMEM;
  const long to = moves_to ? map_fixed(fixed, new_length, writable) : map(new_length, writable);
  if (to < 0) return to;
  const std::size_t moved = old_length < new_length ? old_length : new_length;
  const auto target = static_cast<os::Place>(to);
  // Neither moved nor copied is what is not writable, or not readable.
  if (protection != writable) os::protect(from, moved, writable);
  if (!service_.ask({.kind = Request::Kind::move, .begin = from, .end = target, .length = moved})) {
    if (protection != writable) os::protect(from, moved, protection);
    unmap(target, new_length);
    return -ENOMEM;
  }
  if (protection != writable) os::protect(target, new_length, protection);
  unmap(from, old_length);
  return to;
}

/// It gets its length where it is, or elsewhere, as the kernel unmaps what is in the way before it
/// looks at what is to come.
long Space::take_in(os::Place from, std::size_t old_length, std::size_t new_length, os::Place to) {
  const std::size_t kept = old_length < new_length ? old_length : new_length;
  const long resized = remap_mapping(from, kept, new_length, MREMAP_MAYMOVE, 0);
  if (resized < 0) return resized;
  const auto at = static_cast<os::Place>(resized);
  const long moved = put(at, new_length, to);
  if (moved >= 0) {
    if (kept < old_length) os::unmap(from + kept, old_length - kept);
  } else if (at == from) {
    (void)remap_mapping(from, new_length, kept, 0, 0);
  } else {
    (void)move_mapping(at, new_length, kept, from);
  }
  return moved;
}

/// Has the mapping grow into free addresses behind it.
bool Space::grow_foreign(os::Place at, std::size_t old_length, std::size_t new_length) {
  if (!claim(at + old_length, at + new_length)) return false;
  if (cover(at + old_length, new_length - old_length)) return true;
  give(at + old_length, new_length - old_length);
  return false;
}

/// It is lifted out first, and leaves its addresses taken (MREMAP_DONTUNMAP, of all mappings since
/// Linux 5.13): a hole in the region would be where another thread's next mapping lies.
long Space::remap_foreign(os::Place from, std::size_t old_length, std::size_t new_length, int flags,
                          os::Place fixed) {
  const bool moves_to = (flags & MREMAP_FIXED) != 0;
  if (!moves_to && new_length < old_length) unmap(from + new_length, old_length - new_length);
  if (!moves_to && new_length <= old_length) return static_cast<long>(from);
  const bool grows = !moves_to && grow_foreign(from, old_length, new_length);
  if (!moves_to && !grows && (flags & MREMAP_MAYMOVE) == 0) return -ENOMEM;
  const std::size_t kept = old_length < new_length ? old_length : new_length;
  const long lifted = remap_mapping(from, kept, kept, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0);
  long at = lifted;
  if (lifted >= 0) {
    const auto place = static_cast<os::Place>(lifted);
    at = remap_mapping(place, kept, new_length, MREMAP_MAYMOVE, 0);
    if (at < 0) (void)move_mapping(place, kept, kept, from);
  }
  if (at >= 0 && (moves_to || grows)) {
    const auto place = static_cast<os::Place>(at);
    at = put(place, new_length, grows ? from : fixed);
    if (at < 0) (void)move_mapping(place, new_length, kept, from);
  }
  if (at < 0 && grows) unmap(from + old_length, new_length - old_length);
  if (at >= 0 && !grows) unmap(from, old_length);
  return at < 0 && at != -EFAULT ? -ENOMEM : at;
}

/// Moves what was lifted out to where it is to be, inside or outside.
long Space::put(os::Place lifted, std::size_t length, os::Place to) {
  const bool inside = holds(to, length);
  if (inside && !cover(to, length)) return -ENOMEM;
  const long at = move_mapping(lifted, length, length, to);
  if (at < 0 && inside) unmap(to, length);
  return at;
}

}  // namespace nearfar::tier
