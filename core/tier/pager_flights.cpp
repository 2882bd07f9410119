// Pages that the threads which touched them copy to their places, several at once. What takes most
// of a fault is the kernel's: a new page, and the copy. A thread that serves its own fault need not
// keep others from the pager for that, if nothing else is done for the fault and nothing else
// happens meanwhile. So until the last of them has landed, others only take off and land: no page
// leaves, nothing the kernel tells is read, nobody's request is followed.

#include "tier/orders.h"
#include "tier/pager.h"

namespace nearfar::tier {

std::optional<Pager::Flight> Pager::take_off(os::Place at, os::Touch touch) {
  at = at / os::page_bytes * os::page_bytes;
  if (paused() || !is_ours(at) || !far_.mapped() || is_sample_due()) return {};
  const Orders& orders = orders_of(control_);
  if (orders.latency_ps != 0 || orders.transfer_ps != 0) return {};
  const PageNumber page = number(at);
  if (table_.state(page) != State::far || !table_[page].stored() || windows_.hold(page)) return {};
  const Streams::Run run = streams_.wanted(page, [this](PageNumber other) { return is_in(other); });
  if (run.stream != Streams::most) return {};  // others come with it
  if (!in_flight_.add(page)) return {};
  if (!budget_.try_charge(1)) {
    in_flight_.remove(page);
    return {};
  }
  table_.prefetch_for_policy(page);
  return Flight{.page = page,
                .touch = touch,
                .guard = guard_for(page, touch),
                .contents = far_.at(table_[page].slot())};
}

bool Pager::fly(const Flight& flight) const {
  constexpr auto later = os::Waking::later;
  return uffd_.copy(place(flight.page), flight.contents, os::page_bytes, later, flight.guard)
             .bytes != 0;
}

void Pager::land(const Flight& flight, bool came) {
  in_flight_.remove(flight.page);
  if (!came) {
    budget_.release(1);
    return;
  }
  arrived(flight.page);
  if (flight.touch == os::Touch::write) table_[flight.page].written = true;
  if (flight.guard == os::Guard::on) {
    table_[flight.page].guarded = true;
    control_.add(Count::guarded_ins);
  }
  count_ahead({}, flight.page, 1, 0, 1);
  control_.add(Count::copies_in);
  control_.add(Count::faults);
  ++faults_;
}

}  // namespace nearfar::tier
