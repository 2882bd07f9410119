#include "tier/pager/tree_orders.h"

#include <algorithm>

#include "tier/pager/sizes.h"
#include "tier/tree/orders.h"

namespace nearfar::tier {

bool TreeOrders::obey() {
  const std::uint32_t generation =
      orders_of(state_.control).generation.load(std::memory_order_acquire);
  if (generation != obeyed_) begin(generation);
  return bringing_back_ && bring_back_some();
}

void TreeOrders::become_child() {
  obeyed_ = 0;
  bringing_back_ = false;
}

void TreeOrders::begin(std::uint32_t generation) {
  Orders& orders = orders_of(state_.control);
  obeyed_ = generation;
  (void)state_.budget.reap();
  if (limit_ != state_.budget.limit()) resize();
  Orders::Answer& answer = orders.answers[state_.budget.index()];
  const Residence residence = orders.residence.load();
  state_.keeps_near = residence != Residence::free;
  if (state_.keeps_near) parts_.read_ahead.stop();
  (void)parts_.incoming.drop_all_read();
  answer.far_pages.store(state_.keeps_near ? far_pages() : 0);
  bringing_back_ = residence == Residence::kept;
  next_back_ = 0;
  if (!bringing_back_) answer.generation.store(generation, std::memory_order_release);
}

void TreeOrders::resize() {
  limit_ = state_.budget.limit();
  parts_.windows.close_all();
  parts_.eviction.drain_all();
  state_.limbo = Limbo(limbo_pages(limit_));
  parts_.read_ahead.restart();
}

std::uint64_t TreeOrders::far_pages() const {
  const PageTable& table = state_.table;
  const PageNumber end = state_.end_page();
  std::uint64_t count = 0;
  for (PageNumber page = table.next_used(0, end); page < end; page = table.next_used(page + 1, end))
    count += table[page].state == State::far ? 1 : 0;
  return count;
}

/// Brings one run of pages back. False if all are.
bool TreeOrders::bring_back_some() {
  const PageNumber end = state_.end_page();
  const PageNumber first = state_.table.next_used(next_back_, end);
  if (first == end) {
    bringing_back_ = false;
    orders_of(state_.control)
        .answers[state_.budget.index()]
        .generation.store(obeyed_, std::memory_order_release);
    return false;
  }
  const std::size_t done = bring_back_from(first);
  if (done != 0) next_back_ = static_cast<PageNumber>(first + done);
  return true;
}

/// How many pages from this one on are done with; none if messages must be read before.
std::size_t TreeOrders::bring_back_from(PageNumber first) {
  const PageTable& table = state_.table;
  if (table.state(first) == State::limbo)
    return parts_.page_in.take_back(first, os::Waking::at_once).retry ? 0 : 1;
  if (table.state(first) != State::far) return 1;
  const PageNumber end = state_.end_page();
  std::size_t run = 1;
  while (run < longest_run && first + run < end &&
         table.state(static_cast<PageNumber>(first + run)) == State::far)
    ++run;
  const Filled filled = parts_.page_in.fill_or_first(
      {.first = first, .count = run, .from = State::far, .touched = first});
  if (filled.retry) return 0;
  return std::max<std::size_t>(filled.pages, 1);  // the first cannot come, but others may
}

}  // namespace nearfar::tier
