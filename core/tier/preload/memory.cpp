// mmap and its relatives, as the program and its allocator call them.

#include <pthread.h>

#include <cstdarg>
#include <cstring>

#include "tier/preload/exported.h"
#include "tier/preload/runtime.h"

// Those that headers older than the kernel lack.
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace nearfar::tier::preload {
namespace {

using os::page_bytes;
using os::Place;

/// `length` in whole pages; 0 if it is none, or too much for any memory.
std::size_t whole_pages(std::size_t length) {
  constexpr std::size_t too_much = std::size_t{1} << 47U;
  return length >= too_much ? 0 : (length + page_bytes - 1) / page_bytes * page_bytes;
}

bool aligned(Place at) { return at % page_bytes == 0; }

/// Memory that the program will read and write and no other process sees.
bool manageable(int protection, int flags) {
  constexpr int kept = MAP_TYPE | MAP_ANONYMOUS;
  constexpr int special = MAP_HUGETLB | MAP_32BIT | MAP_GROWSDOWN | MAP_LOCKED;
  return (flags & kept) == (MAP_PRIVATE | MAP_ANONYMOUS) && (flags & special) == 0 &&
         (protection & PROT_EXEC) == 0;
}

/// A just-in-time compiler wants memory that its own code reaches by a jump or a call, before it
/// makes that memory executable: within 2 GiB of the code that asks for it, as a rule.
bool is_beside(Place wish, std::size_t length, Place caller) {
  constexpr Place reached = Place{1} << 31U;
  if (wish == 0 || length > reached) return false;
  return wish < caller ? caller - wish < reached : wish + length - caller < reached;
}

/// `caller`: where in the program's code.
long map(Place at, std::size_t asked, int protection, int flags, int descriptor, long offset,
         Place caller = 0) {
  Runtime* const tier = runtime();
  const std::size_t length = whole_pages(asked);
  const auto plain = [&] { return os::map(at, asked, protection, flags, descriptor, offset); };
  if (tier == nullptr || length == 0) return plain();
  if (tier->guest.is_given() && !tier->space.touches(at, length))
    return tier->guest.reserves(length, protection, flags) ? tier->space.map(length, protection)
                                                           : plain();
  const bool only_there = (flags & MAP_FIXED_NOREPLACE) != 0;
  const Place wish = (at + page_bytes - 1) / page_bytes * page_bytes;  // the kernel rounds, too
  if (only_there || (flags & MAP_FIXED) == 0) {
    if (!manageable(protection, flags)) return plain();
    if (aligned(at) && tier->space.holds(at, length)) {
      const long there = tier->space.map_free(at, length, protection);
      if (only_there || there >= 0) return there;
    } else if (only_there) {
      return plain();
    } else if (is_beside(wish, length, caller)) {
      const long there = os::map(wish, asked, protection, flags | MAP_FIXED_NOREPLACE);
      if (there >= 0 && static_cast<Place>(there) == wish) return there;
      if (there >= 0) os::unmap(static_cast<Place>(there), length);  // before Linux 4.17
    }
    const long managed = tier->space.map(length, protection);
    // Addresses alone, of which some programs reserve more than there are here.
    return managed == -ENOMEM && protection == PROT_NONE ? plain() : managed;
  }
  if (!aligned(at) || !tier->space.touches(at, length)) return plain();
  if (!tier->space.holds(at, length)) return -ENOMEM;
  if (manageable(protection, flags)) return tier->space.map_fixed(at, length, protection);
  if ((flags & MAP_GROWSDOWN) != 0 && manageable(protection, flags & ~MAP_GROWSDOWN))
    return tier->space.map_growing(at, length, protection);
  return tier->space.map_foreign(at, asked, protection, flags, descriptor, offset);
}

long unmap(Place at, std::size_t asked) {
  Runtime* const tier = runtime();
  const std::size_t length = whole_pages(asked);
  if (tier == nullptr || length == 0 || !aligned(at) || !tier->space.touches(at, length))
    return os::unmap(at, asked);
  const Place begin = at < tier->space.base() ? tier->space.base() : at;
  const Place end = at + length > tier->space.end() ? tier->space.end() : at + length;
  if (at < begin) os::unmap(at, begin - at);
  if (end < at + length) os::unmap(end, at + length - end);
  tier->space.unmap(begin, end - begin);
  return 0;
}

/// Advice about what is ours to decide: taken, and nothing is done.
bool is_hint(int advice) {
  switch (advice) {
    case MADV_NORMAL:
    case MADV_RANDOM:
    case MADV_SEQUENTIAL:
    case MADV_WILLNEED:
    case MADV_HUGEPAGE:
    case MADV_NOHUGEPAGE:
    case MADV_COLLAPSE:
    case MADV_MERGEABLE:
    case MADV_UNMERGEABLE:
    case MADV_COLD:
    case MADV_PAGEOUT:
    case MADV_DOFORK:
    case MADV_KEEPONFORK:
      return true;
    default:
      return false;
  }
}

/// Advice that is not known here, or cannot be followed, is refused as by a kernel that does not
/// have it: the caller has another way.
long advise(Place at, std::size_t asked, int advice) {
  Runtime* const tier = runtime();
  const auto plain = [&] {
    return nearfar_program_call(__NR_madvise, os::word(at), os::word(asked), advice, 0, 0, 0);
  };
  const std::size_t length = whole_pages(asked);
  if (tier == nullptr || length == 0 || !aligned(at) || !tier->space.touches(at, length))
    return plain();
  if (!tier->space.holds(at, length)) return -EINVAL;
  if (tier->space.is_all_foreign(at, length)) return plain();
  // What is mapped on both sides of a hole is given back, too.
  const long done = tier->space.is_free(at, length) ? -ENOMEM : 0;
  switch (advice) {
    case MADV_DONTNEED:
    case MADV_FREE: {
      const long error = tier->space.discard(at, length);
      return error == 0 ? done : error;
    }
    case MADV_DONTNEED_LOCKED:
      tier->space.discard_locked(at, length);
      return done;
    case MADV_POPULATE_READ:
    case MADV_POPULATE_WRITE:
    case MADV_DONTDUMP:
    case MADV_DODUMP:
      return done == 0 ? plain() : done;
    default:
      return is_hint(advice) ? done : -EINVAL;
  }
}

/// Free addresses are there to the kernel, and not to the program.
long protect(Place at, std::size_t asked, int protection) {
  Runtime* const tier = runtime();
  const std::size_t length = whole_pages(asked);
  if (tier == nullptr || length == 0 || !aligned(at) || !tier->space.touches(at, length))
    return os::protect(at, asked, protection);
  return tier->space.is_free(at, length) ? -ENOMEM : tier->space.protect(at, asked, protection);
}

/// mremap of managed memory to other addresses: by a copy.
long remap_out(Runtime& tier, Place from, std::size_t old_length, std::size_t new_length,
               Place to) {
  constexpr int writable = PROT_READ | PROT_WRITE;
  const int protection = tier.space.protections().of(from);
  const long made = map(to, new_length, writable, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (made < 0) return made;
  if (protection == PROT_NONE) os::protect(from, old_length, PROT_READ);
  std::memcpy(os::pointer(to), os::pointer(from),
              old_length < new_length ? old_length : new_length);
  if (protection >= 0 && protection != writable) os::protect(to, new_length, protection);
  tier.space.unmap(from, old_length);
  return made;
}

/// mremap from or to managed addresses.
long remap_here(Runtime& tier, Place from, std::size_t old_length, std::size_t new_length,
                int flags, Place fixed) {
  Space& space = tier.space;
  const bool moves_to = (flags & MREMAP_FIXED) != 0;
  const bool to_managed = moves_to && space.touches(fixed, new_length);
  if (to_managed && !space.holds(fixed, new_length)) return -ENOMEM;
  if (!space.touches(from, old_length)) return space.take_in(from, old_length, new_length, fixed);
  const std::size_t kept = old_length < new_length ? old_length : new_length;
  if (!space.holds(from, old_length) || space.is_free(from, kept)) return -EFAULT;
  if (space.is_all_foreign(from, kept))
    return space.remap_foreign(from, old_length, new_length, flags, fixed);
  if (space.is_foreign(from, kept)) return -EFAULT;
  if (moves_to && !to_managed) return remap_out(tier, from, old_length, new_length, fixed);
  return space.remap(from, old_length, new_length, flags, fixed);
}

long remap(Place from, std::size_t old_asked, std::size_t new_asked, int flags, Place fixed) {
  Runtime* const tier = runtime();
  const auto plain = [&] {
    return os::call(__NR_mremap, os::word(from), os::word(old_asked), os::word(new_asked), flags,
                    os::word(fixed));
  };
  if (tier == nullptr) return plain();
  const std::size_t old_length = whole_pages(old_asked);
  const std::size_t new_length = whole_pages(new_asked);
  const bool moves_to = (flags & MREMAP_FIXED) != 0;
  const bool to_managed = moves_to && tier->space.touches(fixed, new_length);
  if (!tier->space.touches(from, old_length == 0 ? 1 : old_length) && !to_managed) return plain();
  constexpr int known = MREMAP_MAYMOVE | MREMAP_FIXED;
  const bool overlap = moves_to && fixed < from + old_length && from < fixed + new_length;
  if (!aligned(from) || (moves_to && !aligned(fixed)) || old_length == 0 || new_length == 0 ||
      (flags & ~known) != 0 || (moves_to && (flags & MREMAP_MAYMOVE) == 0) || overlap) {
    return -EINVAL;
  }
  return remap_here(*tier, from, old_length, new_length, flags, fixed);
}

/// Behind the handlers of fork.cpp, as constructors with a number come first.
void reopen_in_child() {
  if (Runtime* const tier = runtime(); tier != nullptr) tier->space.protections().reopen_in_child();
}
__attribute__((constructor)) void look_after_children() {
  if (runtime() != nullptr) (void)pthread_atfork(nullptr, nullptr, reopen_in_child);
}

}  // namespace
}  // namespace nearfar::tier::preload

namespace preload = nearfar::tier::preload;
namespace os = nearfar::tier::os;

NEARFAR_EXPORT void* mmap(void* at, std::size_t length, int protection, int flags, int descriptor,
                          long offset) noexcept {
  const os::Place caller = os::place(__builtin_return_address(0));
  return preload::result(
      preload::map(os::place(at), length, protection, flags, descriptor, offset, caller));
}

NEARFAR_EXPORT void* mmap64(void* at, std::size_t length, int protection, int flags, int descriptor,
                            long offset) noexcept {
  const os::Place caller = os::place(__builtin_return_address(0));
  return preload::result(
      preload::map(os::place(at), length, protection, flags, descriptor, offset, caller));
}

NEARFAR_EXPORT int munmap(void* at, std::size_t length) noexcept {
  return preload::status(preload::unmap(os::place(at), length));
}

NEARFAR_EXPORT int madvise(void* at, std::size_t length, int advice) noexcept {
  return preload::status(preload::advise(os::place(at), length, advice));
}

NEARFAR_EXPORT int mprotect(void* at, std::size_t length, int protection) noexcept {
  return preload::status(preload::protect(os::place(at), length, protection));
}

NEARFAR_EXPORT void* mremap(void* from, std::size_t old_length, std::size_t new_length, int flags,
                            ...) noexcept {
  const void* fixed = nullptr;
  if ((flags & MREMAP_FIXED) != 0) {
    std::va_list more;
    va_start(more, flags);
    fixed = va_arg(more, const void*);
    va_end(more);
  }
  return preload::result(
      preload::remap(os::place(from), old_length, new_length, flags, os::place(fixed)));
}
