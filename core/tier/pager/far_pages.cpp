#include "tier/pager/far_pages.h"

#include "tier/os/clock.h"
#include "tier/tree/orders.h"

namespace nearfar::tier {

FarStore::Run FarPages::view(PageNumber page, std::size_t count) {
  const FarStore::Run run = state_.store.view(entries(page, count), far_copies);
  emulate(run.traffic);
  return run;
}

void FarPages::read(PageNumber page, std::size_t count, unsigned char* to) {
  emulate(state_.store.read(entries(page, count), to));
}

const void* FarPages::in_place(PageNumber page) const {
  const Orders& orders = orders_of(state_.control);
  if (orders.latency_ps != 0 || orders.transfer_ps != 0) return nullptr;
  return state_.store.in_place(state_.table[page]);
}

FarPages::Copies FarPages::find_copies(std::span<const Page* const> pages) {
  Copies copies{};
  emulate(state_.store.find_copies(pages, far_copies, copies));
  return copies;
}

void FarPages::write(std::span<const FarStore::Outgoing> pages) {
  if (pages.empty()) return;
  const FarStore::Written written = state_.store.write(pages);
  emulate(written.traffic);
  state_.control.add(Count::copies_out, written.traffic.pages);
  state_.control.add(Count::filled_drops, written.filled);
}

/// Far memory that does not exist takes time all the same: so much for each page moved, and for
/// the bytes that move.
void FarPages::emulate(const FarStore::Traffic& traffic) {
  if (traffic.pages == 0) return;
  const Orders& orders = orders_of(state_.control);
  const std::uint64_t delay_ns =
      (orders.latency_ps * traffic.pages + orders.transfer_ps * traffic.bytes / os::page_bytes) /
      1000;
  if (delay_ns == 0) return;
  const std::uint64_t begun = os::monotonic_ns();
  os::wait_until(begun + delay_ns);
  state_.control.add(Count::emulated_ns, delay_ns);
  state_.control.add(Count::delayed_ns, os::monotonic_ns() - begun);
}

}  // namespace nearfar::tier
