#include "tier/children.h"

#include <fcntl.h>

namespace nearfar::tier {
namespace {

void close_one(int& descriptor) {
  if (descriptor >= 0) os::call(__NR_close, descriptor);
  descriptor = -1;
}

}  // namespace

Children::Child* Children::prepare() {
  for (Child& child : children_) {
    if (child.alive >= 0) continue;
    int ends[2] = {-1, -1};
    if (os::call(__NR_pipe2, os::word(ends), O_CLOEXEC) < 0) return nullptr;
    child = {.alive = os::hide(ends[0]), .held = os::hide(ends[1])};
    return &child;
  }
  return nullptr;
}

void Children::forked(Child& child) { close_one(child.held); }

void Children::inherited(const Child* self) {
  close_one(own_end_);  // the parent's: it must hang up when the parent ends, whoever else is there
  if (self != nullptr) own_end_ = self->held;
  for (Child& child : children_) {
    close_one(child.alive);
    child.held = -1;
    forget(child);
  }
}

void Children::forget(Child& child) {
  close_one(child.alive);
  if (child.shared != nullptr) os::unmap(os::place(child.shared), child.capacity * sizeof(Slot));
  child = {};
}

}  // namespace nearfar::tier
