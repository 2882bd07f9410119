#include "tier/os/own_memory.h"

#include <fcntl.h>
#include <sys/uio.h>

namespace nearfar::tier::os {

void OwnMemory::open() noexcept {
  const long opened = call(__NR_openat, AT_FDCWD, word("/proc/self/mem"), O_RDONLY | O_CLOEXEC);
  descriptor_ = opened < 0 ? -1 : hide(static_cast<int>(opened));
}

void OwnMemory::close() noexcept {
  if (descriptor_ >= 0) call(__NR_close, descriptor_);
  descriptor_ = -1;
}

std::size_t OwnMemory::read(Place from, void* to, std::size_t length) const noexcept {
  if (descriptor_ < 0) {
    std::size_t there = 0;
    while (there < length && resident(from + there)) there += page_bytes;
    const iovec source{.iov_base = pointer(from), .iov_len = there};
    const iovec target{.iov_base = to, .iov_len = there};
    const long got =
        call(__NR_process_vm_readv, call(__NR_getpid), word(&target), 1, word(&source), 1, 0);
    return got <= 0 ? 0 : static_cast<std::size_t>(got) / page_bytes * page_bytes;
  }
  std::size_t done = 0;
  while (done < length) {
    const long got = call(__NR_pread64, descriptor_, word(to) + word(done), word(length - done),
                          word(from + done));
    if (got == -EINTR) continue;
    if (got == -EBADF) fail("the program closed a descriptor that its memory depends on");
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done / page_bytes * page_bytes;
}

bool resident(Place at) noexcept {
  unsigned char there = 0;
  return call(__NR_mincore, word(at), page_bytes, word(&there)) == 0 && (there & 1U) != 0;
}

}  // namespace nearfar::tier::os
