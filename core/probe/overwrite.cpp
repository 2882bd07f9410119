#include "probe/overwrite.h"

#include "base/error.h"
#include "probe/clock.h"
#include "probe/instructions.h"
#include "probe/kernels.h"

namespace nearfar::probe {
namespace {

constexpr Bytes write_bytes = 256;
constexpr std::uint64_t writes_between_polls = 4096;

}  // namespace

OverwriteTimes overwrite(const Memory& memory, const OverwriteRequest& request, const Poll& poll) {
  if (request.region == 0 || request.region % write_bytes != 0 || request.region > memory.size()) {
    throw InputError("overwrite: the region is not of whole 256 B, or larger than the memory");
  }
  OverwriteTimes times;
  times.ns.reserve(request.writes);
  times.disturbance = run_team(
      {request.cpu},
      [&](const Member& member) {
        const Clock& clock = Clock::host();
        const StoreKernel store = store_kernel(request.op, Isa::host().width());
        flush(memory.base(), request.region);
        Bytes at = 0;
        for (std::uint64_t i = 0; i < request.writes; ++i) {
          if (i % writes_between_polls == 0 && !member.carry_on()) return;
          const std::uint64_t start = start_cycles();
          store(memory.base() + at, write_bytes, i);
          fence(request.fence);
          times.ns.push_back(clock.ns(stop_cycles() - start));
          at = at + write_bytes == request.region ? 0 : at + write_bytes;
        }
      },
      poll);
  return times;
}

}  // namespace nearfar::probe
