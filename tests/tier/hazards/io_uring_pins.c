/* io_uring pins registered buffers: a device may write to them at any time, so they must not leave
 * their place. What the kernel put there is what the program finds, however short memory is. */

#include "hazard.h"

#include <linux/io_uring.h>
#include <stdatomic.h>
#include <sys/uio.h>

static struct io_uring_params params;
static int ring;
static char* rings;
static struct io_uring_sqe* entries;

static unsigned* at_offset(unsigned offset) { return (unsigned*)(void*)(rings + offset); }

static void start(char* buffer, size_t length) {
  ring = (int)syscall(SYS_io_uring_setup, 4, &params);
  if (ring < 0 && (errno == ENOSYS || errno == EPERM)) {
    puts("no io_uring here");
    exit(0);
  }
  must(ring >= 0, "io_uring_setup");
  const size_t size = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
  rings =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
  entries = mmap(NULL, params.sq_entries * sizeof *entries, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
  must(rings != MAP_FAILED && entries != MAP_FAILED, "io_uring's rings");
  const struct iovec whole = {buffer, length};
  must(syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &whole, 1) == 0,
       "registering a buffer");
}

static void do_fixed(int operation, int file, char* at, size_t length) {
  unsigned* tail = at_offset(params.sq_off.tail);
  const unsigned mask = *at_offset(params.sq_off.ring_mask);
  const unsigned index = *tail & mask;
  entries[index] = (struct io_uring_sqe){.opcode = (unsigned char)operation,
                                         .fd = file,
                                         .addr = (uint64_t)(uintptr_t)at,
                                         .len = (unsigned)length};
  at_offset(params.sq_off.array)[index] = index;
  atomic_store((_Atomic unsigned*)tail, *tail + 1);
  must(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1,
       "io_uring_enter");
  unsigned* head = at_offset(params.cq_off.head);
  const struct io_uring_cqe* done =
      (const void*)(rings + params.cq_off.cqes +
                    (*head & *at_offset(params.cq_off.ring_mask)) * sizeof *done);
  errno = done->res < 0 ? -done->res : 0;
  must(done->res == (int)length, "a read or write of a registered buffer");
  atomic_store((_Atomic unsigned*)head, *head + 1);
}

int main(void) {
  char* buffer = far_block(HELD, 1);
  start(buffer, (size_t)HELD * PAGE);
  check("a far buffer when it is registered", buffer, HELD, 1);
  const int file = memfd_create("file", 0);
  must(file >= 0, "memfd_create");
  for (uint64_t seed = 2; seed < 6; ++seed) {
    fill(buffer, HELD, seed);
    press();
    do_fixed(IORING_OP_WRITE_FIXED, file, buffer, (size_t)HELD * PAGE);
    fill(buffer, HELD, 77);
    press();
    do_fixed(IORING_OP_READ_FIXED, file, buffer, (size_t)HELD * PAGE);
    check("a registered buffer", buffer, HELD, seed);
    press();
    check("a registered buffer, later", buffer, HELD, seed);
  }
  must(syscall(SYS_io_uring_register, ring, IORING_UNREGISTER_BUFFERS, NULL, 0) == 0,
       "giving a buffer back");
  send_far(buffer, HELD);
  check("a buffer that is registered no more", buffer, HELD, 5);
  puts("ok");
  return 0;
}
