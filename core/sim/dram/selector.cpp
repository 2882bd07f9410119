#include "sim/dram/selector.h"

namespace nearfar::sim::dram {

/// Which request a bank works for, when it is not plainly the oldest of them: the urgent one,
/// else the oldest that hits, else the oldest. Blocked writes do not count.
RequestQueue::Index Selector::search(Direction d, const ControllerState& state,
                                     std::uint32_t bank) {
  const RequestQueue& queue = state.queue(d);
  if (state.urgent(d) && queue[queue.oldest()].at.bank == bank) return queue.oldest();
  const std::int64_t open = state.open_row[bank];
  Index first = RequestQueue::none;
  for (Index i = queue.oldest_in_bank(bank); i != RequestQueue::none;
       i = queue[i].younger_in_bank) {
    const RequestQueue::Entry& request = queue[i];
    if (request.blocked) continue;
    if (request.at.row == open) return i;
    if (first != RequestQueue::none) continue;
    first = i;
    if (open == ControllerState::closed) break;
  }
  return first;
}

}  // namespace nearfar::sim::dram
