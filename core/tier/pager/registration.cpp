#include "tier/pager/registration.h"

#include "tier/tree/orders.h"

namespace nearfar::tier {
namespace {

using os::page_bytes;

void open(PagerState& state) {
  os::Uffd& uffd = state.uffd();
  const os::Eviction wanted = orders_of(state.control).eviction;
  long opened = uffd.open(wanted, os::Changes::followed, state.faults_as);
  if (opened == 0 && uffd.moves()) {
    opened = state.staging_uffd().open_beside(uffd, os::Eviction::move, os::Changes::unseen,
                                              state.faults_as);
  }
  if (opened == -EPERM) {
    os::fail(
        "userfaultfd is not permitted to this user: sysctl vm.unprivileged_userfaultfd=1, or "
        "give access to /dev/userfaultfd; --sigbus needs neither");
  }
  if (opened == -EMFILE || opened == -ENFILE) os::fail("no descriptors left for userfaultfd");
  if (opened < 0) {
    os::fail(wanted == os::Eviction::move
                 ? "this kernel's userfaultfd cannot move pages; Linux 6.8 or newer can"
                 : "this kernel's userfaultfd can neither move nor write-protect pages; Linux 5.7 "
                   "or newer can");
  }
  if (!uffd.moves()) state.memory().open_contents();
}

// Pages are moved to limbo, at its largest as the limit may grow, and to recycled groups.
constexpr std::size_t limbo_bytes = Limbo::most * page_bytes;
constexpr std::size_t staging_bytes = limbo_bytes + RecycledGroups::bytes;
constexpr std::size_t incoming_bytes = ExpectedGroups::most * huge_bytes;

void reserve_staging(PagerState& state) {
  constexpr std::size_t all = staging_bytes + incoming_bytes;
  os::Place& staging = state.region.staging;
  if (staging == 0) {
    const os::Place reserved = os::reserve(all + 2 * huge_bytes, PROT_NONE);
    if (reserved == 0) os::fail("no address space for the staging memory");
    staging = (reserved / huge_bytes + 1) * huge_bytes;
  }
  if (!os::make_uncounted(staging, all)) os::fail("no memory for the staging memory");
  state.memory().advise(staging + staging_bytes, incoming_bytes, MADV_HUGEPAGE);
  state.memory().advise(staging, all, MADV_DONTFORK);
}

/// Calls with each part of the region that is managed, until one returns an error; that, or 0.
template <typename Call>
long for_each_managed(const PagerState& state, const Call& call) {
  const os::Place end = state.region.base + state.region.length;
  long error = 0;
  for (auto own = state.unmanaged.gap(state.region.base, end); own.begin < end && error == 0;
       own = state.unmanaged.gap(own.end, end))
    error = call(own.begin, own.end - own.begin);
  return error;
}

}  // namespace

void register_region(PagerState& state, IncomingGroups& incoming) {
  open(state);
  reserve_staging(state);
  const os::Place staging = state.region.staging;
  incoming.use_staging(staging + limbo_bytes, staging + staging_bytes);
  // What is moved, and only that, comes from registered memory.
  long error =
      state.uffd().moves() ? state.staging_uffd().register_range(staging, staging_bytes) : 0;
  if (error == 0) {
    error = for_each_managed(state, [&](os::Place begin, std::size_t length) {
      return state.uffd().register_range(begin, length);
    });
  }
  if (error != 0) os::fail("the memory cannot be watched", error);
}

void allow_fork(PagerState& state, bool allowed) {
  (void)for_each_managed(state, [&](os::Place begin, std::size_t length) {
    state.memory().advise(begin, length, allowed ? MADV_DOFORK : MADV_DONTFORK);
    return 0L;
  });
}

}  // namespace nearfar::tier
