#include "tier/pager/pager.h"

#include "tier/pager/registration.h"
#include "tier/tree/orders.h"

namespace nearfar::tier {

Pager::Pager(Region region, PageTable table, Control& control, FarStore& far, Kernel kernel)
    : parts_(region, table, control, far, kernel),
      ranges_(parts_.state, {parts_.remap, parts_.eviction, parts_.huge, parts_.incoming,
                             parts_.windows, parts_.page_in, parts_.zeros}),
      advice_(parts_.state, parts_.page_in, parts_.eviction, parts_.huge, parts_.windows),
      orders_(parts_.state, {parts_.page_in, parts_.read_ahead, parts_.eviction, parts_.incoming,
                             parts_.windows}),
      fork_(parts_.state,
            {parts_.page_in, parts_.arrivals, parts_.read_ahead, parts_.eviction, parts_.incoming,
             parts_.windows, parts_.remap, orders_, parts_.children}),
      faults_(parts_.state, {parts_.read_ahead, parts_.page_in, parts_.eviction, parts_.windows,
                             parts_.remap, fork_, parts_.protection, parts_.zeros}),
      copies_(parts_.state, {parts_.far, parts_.page_in, parts_.arrivals, parts_.read_ahead,
                             parts_.windows, fork_, faults_}),
      flat_(parts_.state, {parts_.page_in, parts_.arrivals, parts_.eviction}) {}

void Pager::make_flat(FlatPages& pages) {
  PagerState& state = parts_.state;
  state.flat = &pages;
  state.budget.unbind();
  orders_.adopt_limit();
  state.limbo = Limbo(Limbo::most);
  parts_.protection.forbid();
  const auto detector = static_cast<policy::Detector>(pages.control().detector);
  if (detector == policy::Detector::dirty) state.uffd().track(os::Tracking::writes);
  if (detector == policy::Detector::accessed) state.uffd().track(os::Tracking::accesses);
}

void Pager::start(std::int32_t process, WakePipe bell, os::Faults faults) {
  PagerState& state = parts_.state;
  parts_.eviction.start(bell);
  state.faults_as = faults;
  if (!state.budget.join(process)) os::fail("more than 4096 processes in one tree");
  state.slots().become(state.budget.index());
  state.table.log().become(process);
  register_region(state, parts_.incoming);
  allow_fork(state, false);
  state.memory().open();
  state.has_huge_pages = state.memory().has_huge_pages();
  if (state.memory().merges_pages()) {
    parts_.protection.forbid();
    parts_.zeros.forbid();
  }
  if (state.flat != nullptr) state.flat->belong_to(state.budget.member());
  flat_.start();
}

void Pager::set_thread(std::size_t worker, int thread) {
  Region& region = parts_.state.region;
  if (worker == 0) region.pagers = {};
  region.pagers[worker] = thread;
  if (worker != 0) return;
  Member& member = parts_.state.budget.member();
  member.region.store(os::place(&region));
  member.pager_thread.store(thread);
}

PagerCpu Pager::wanted_cpu() const { return orders_of(parts_.state.control).pager_cpu; }

bool Pager::is_to_stay_near() const {
  const Orders& orders = orders_of(parts_.state.control);
  return orders.residence.load(std::memory_order_relaxed) == Residence::kept;
}

int Pager::first_owned(int from) const {
  int first = -1;
  const auto consider = [&](int descriptor) {
    if (descriptor >= from && (first < 0 || descriptor < first)) first = descriptor;
  };
  const PagerState& state = parts_.state;
  consider(state.uffd().descriptor());
  consider(state.uffd().device());
  consider(state.staging_uffd().descriptor());
  consider(state.store.descriptor());
  for (const int descriptor : state.memory().descriptors()) consider(descriptor);
  const Children& children = fork_.children();
  consider(children.own_end());
  consider(children.descriptor());
  for (const Children::Child& child : children.all()) {
    consider(child.alive);
    consider(child.held);
  }
  return first;
}

}  // namespace nearfar::tier
