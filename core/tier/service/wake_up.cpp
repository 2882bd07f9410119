#include "tier/service/wake_up.h"

#include <sys/eventfd.h>

#include "tier/os/system.h"

namespace nearfar::tier {

int WakeUp::open() {
  close();
  const long made = os::call(__NR_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (made < 0) return static_cast<int>(made);
  descriptor_ = os::hide(static_cast<int>(made));
  return descriptor_;
}

void WakeUp::close() {
  if (descriptor_ >= 0) os::call(__NR_close, descriptor_);
  descriptor_ = -1;
}

void WakeUp::signal() const {
  const std::uint64_t one = 1;
  os::call(__NR_write, descriptor_, os::word(&one), sizeof one);
}

void WakeUp::clear() const {
  std::uint64_t count = 0;
  os::call(__NR_read, descriptor_, os::word(&count), sizeof count);
}

}  // namespace nearfar::tier
