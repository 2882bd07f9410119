#include "probe/drop.h"

#include "base/error.h"
#include "probe/instructions.h"

namespace nearfar::probe {

Timings drop(const Memory& memory, const DropRequest& request, const Poll& poll) {
  if (request.lines == 0) throw InputError("drop: no lines");
  const Bytes bytes = request.lines * line_bytes;
  memory.check_holds(bytes);
  Timings timings;
  timings.threads.resize(1);
  timings.disturbance = run_team(
      {request.cpu},
      [&](const Member& member) {
        const Clock& clock = Clock::host();
        std::vector<Chunk>& chunks = timings.threads[0];
        while (chunks.size() < request.chunks && member.carry_on()) {
          for (Bytes at = 0; at < bytes; at += line_bytes) {
            std::byte* const line = memory.base() + at;
            if (request.changes) {
              change_line(line);
            } else {
              load_word(line);
            }
          }
          fence(Fence::mfence);
          const std::uint64_t start = start_cycles();
          for (Bytes at = 0; at < bytes; at += line_bytes) clflush(memory.base() + at);
          fence(Fence::mfence);
          chunks.push_back({clock.ns(stop_cycles() - start), request.lines, 0});
        }
      },
      poll);
  return timings;
}

}  // namespace nearfar::probe
