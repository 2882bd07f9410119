#include "tier/pager/forked_children.h"

namespace nearfar::tier {

bool ForkedChildren::prepare() {
  Children::Child* const child = children_.prepare();
  if (child == nullptr) return false;
  child->member = state_.budget.prepare_child();
  child->waits = child->member != nullptr;
  if (!child->waits) children_.remove(*child);
  return child->waits;
}

Children::Child* ForkedChildren::begin() {
  Children::Child* child = children_.waiting();
  if (child == nullptr && prepare()) child = children_.waiting();
  if (child != nullptr) child->waits = false;
  return child;
}

void ForkedChildren::share_slots(Children::Child& child) {
  if (child.capacity == 0) return;
  child.shared = os::pointer<Slot>(os::reserve(child.capacity * sizeof(Slot)));
  if (child.shared == nullptr) os::fail("no memory to fork with");
  const PageTable& table = state_.table;
  const PageNumber end = state_.end_page();
  for (PageNumber page = table.next_used(0, end); page < end;
       page = table.next_used(page + 1, end)) {
    if (!table[page].stored()) continue;
    state_.slots().share(table[page].slot());
    child.shared[child.count++] = table[page].slot();
  }
}

bool ForkedChildren::reap() {
  bool any = false;
  while (Children::Child* const child = children_.ended()) {
    end(*child);
    any = true;
  }
  return any;
}

void ForkedChildren::end(Children::Child& child) {
  for (std::size_t i = 0; i < child.count; ++i) state_.slots().unshare(child.shared[i]);
  state_.budget.release(child.charged);
  state_.budget.end(*child.member);
  children_.remove(child);
}

}  // namespace nearfar::tier
