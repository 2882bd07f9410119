// What programs that know of the library ask of it (nearfar/tier.h).

#include <cerrno>

#include "tier/preload/include/nearfar/tier.h"
#include "tier/preload/runtime.h"

namespace nearfar::tier::preload {
namespace {

int failed(int error) {
  errno = error;
  return -1;
}

}  // namespace
}  // namespace nearfar::tier::preload

#define NEARFAR_EXPORT extern "C" __attribute__((visibility("default")))

namespace tier = nearfar::tier;
namespace os = nearfar::tier::os;

NEARFAR_EXPORT int nearfar_tier_managed_1(const void* at) {
  tier::preload::Runtime* const runtime = tier::preload::runtime();
  return runtime != nullptr && runtime->space.has(os::place(at)) ? 1 : 0;
}

NEARFAR_EXPORT int nearfar_tier_advise_1(void* at, std::size_t bytes, int advice) {
  using tier::Request;
  tier::preload::Runtime* const runtime = tier::preload::runtime();
  if (runtime == nullptr) return tier::preload::failed(ENOSYS);
  if (advice < NEARFAR_WILL_NEED || advice > NEARFAR_MAY_LEAVE)
    return tier::preload::failed(EINVAL);
  const os::Place first = (os::place(at) + os::page_bytes - 1) / os::page_bytes * os::page_bytes;
  const os::Place last = (os::place(at) + bytes) / os::page_bytes * os::page_bytes;
  if (first >= last) return 0;
  if (!runtime->space.holds(first, last - first) || runtime->space.is_free(first, last - first))
    return tier::preload::failed(EINVAL);
  // In pieces, so that no fault of another thread waits for all of it.
  constexpr std::size_t piece = 64 * os::page_bytes;
  constexpr Request::Kind kinds[] = {Request::Kind::will_need, Request::Kind::cold,
                                     Request::Kind::keep_near, Request::Kind::may_leave};
  const Request::Kind kind = kinds[advice - NEARFAR_WILL_NEED];
  for (os::Place from = first; from < last; from += piece) {
    const os::Place to = last - from < piece ? last : from + piece;
    if (runtime->service.ask({.kind = kind, .begin = from, .end = to})) continue;
    runtime->service.ask({.kind = Request::Kind::may_leave, .begin = first, .end = last});
    return tier::preload::failed(ENOMEM);
  }
  return 0;
}

NEARFAR_EXPORT int nearfar_tier_stats_1(nearfar_stats* stats) {
  using tier::Count;
  const tier::preload::Runtime* const runtime = tier::preload::runtime();
  if (runtime == nullptr) return tier::preload::failed(ENOSYS);
  const tier::Control& control = runtime->control;
  const auto count = [&](Count what) {
    return control.counts[static_cast<std::size_t>(what)].load();
  };
  *stats = {
      .near_limit_bytes = control.limit_pages.load() * os::page_bytes,
      .near_bytes = control.near_total.load() * os::page_bytes,
      .far_bytes = control.slots_used.load() * os::page_bytes,
      .managed_bytes = control.managed_total.load() * os::page_bytes,
      .faults = count(Count::faults),
      .evictions = count(Count::evictions),
      .copies_in = count(Count::copies_in),
      .copies_out = count(Count::copies_out),
  };
  return 0;
}
