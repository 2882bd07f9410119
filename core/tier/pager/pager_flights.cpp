// Pages that the threads which touched them copy to their places, several at once. What takes most
// of a fault is the kernel's: a new page, and the copy. A thread that serves its own fault need not
// keep others from the pager for that, if nothing else is done for the fault and nothing else
// happens meanwhile. So until the last of them has landed, others only take off and land: no page
// leaves, nothing the kernel tells is read, nobody's request is followed. Whoever is the pager's
// one thread next lands those that the kernel says are over: who has copied may be preempted just
// then.

#include "tier/pager/pager.h"
#include "tier/tree/orders.h"

namespace nearfar::tier {

PageCopy* Pager::begin_copy(os::Place at, os::Touch touch) {
  at = at / os::page_bytes * os::page_bytes;
  if (is_paused() || !is_ours(at) || is_sample_due()) return nullptr;
  const Orders& orders = orders_of(control_);
  if (orders.latency_ps != 0 || orders.transfer_ps != 0) return nullptr;
  const PageNumber page = number(at);
  if (table_.state(page) != State::far || !table_[page].stored() || windows_.hold(page))
    return nullptr;
  const Streams::Run run = streams_.wanted(page, [this](PageNumber other) { return is_in(other); });
  if (run.stream != Streams::most) return nullptr;  // others come with it
  const void* const contents = far_.in_place(table_[page]);
  if (contents == nullptr) return nullptr;
  PageCopy* const flight = in_flight_.add(page);
  if (flight == nullptr) return nullptr;
  if (!budget_.try_charge(1)) {
    in_flight_.give_up(*flight);
    return nullptr;
  }
  table_.prefetch_for_policy(page);
  flight->touch = touch;
  flight->protect = protection_for(page, touch);
  flight->copy = {place(page), contents, flight->protect};
  return flight;
}

void Pager::complete_copies() {
  in_flight_.complete([this](const PageCopy& flight) { complete(flight); });
}

void Pager::complete(const PageCopy& flight) {
  if (!flight.copy.has_come()) {
    budget_.release(1);
    return;
  }
  arrived(flight.page);
  if (flight.touch == os::Touch::write) table_[flight.page].written = true;
  if (flight.protect == os::Protect::on) {
    table_[flight.page].write_protected = true;
    control_.add(Count::guarded_ins);
  }
  count_ahead({}, flight.page, 1, 0, 1);
  control_.add(Count::copies_in);
  control_.add(Count::faults);
  ++faults_;
}

}  // namespace nearfar::tier
