#include "tier/os/memory.h"

#include "tier/os/clock.h"
#include "tier/os/status.h"

namespace nearfar::tier::os {

void KernelMemory::open() noexcept {
  status_ = open_status();
  map_.open();
}

void KernelMemory::close() noexcept {
  contents_.close();
  if (status_ >= 0) call(__NR_close, status_);
  status_ = -1;
  map_.close();
}

std::uint64_t KernelMemory::anonymous_pages() const noexcept {
  return os::anonymous_pages(status_);
}

std::uint64_t KernelMemory::thread_ns() const noexcept { return own_thread_ns(); }

std::uint64_t KernelMemory::now_ns() const noexcept { return monotonic_ns(); }

}  // namespace nearfar::tier::os
