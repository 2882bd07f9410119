/* io_uring by its system calls: one ring, one registered buffer, one operation at a time. */

#pragma once
#include <errno.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct ring {
  struct io_uring_params params;
  int descriptor; /* -1: there is no io_uring here */
  char* rings;
  struct io_uring_sqe* entries;
};

static inline unsigned* ring_word(const struct ring* r, unsigned offset) {
  return (unsigned*)(void*)(r->rings + offset);
}

static inline void ring_start(struct ring* r) {
  *r = (struct ring){.descriptor = -1};
  r->descriptor = (int)syscall(SYS_io_uring_setup, 4, &r->params);
  if (r->descriptor < 0) return;
  const size_t size = r->params.cq_off.cqes + r->params.cq_entries * sizeof(struct io_uring_cqe);
  const int access = PROT_READ | PROT_WRITE;
  const int kind = MAP_SHARED | MAP_POPULATE;
  r->rings = mmap(NULL, size, access, kind, r->descriptor, IORING_OFF_SQ_RING);
  r->entries = mmap(NULL, r->params.sq_entries * sizeof *r->entries, access, kind, r->descriptor,
                    IORING_OFF_SQES);
  if (r->rings != MAP_FAILED && r->entries != MAP_FAILED) return;
  close(r->descriptor);
  r->descriptor = -1;
}

/* Pins a buffer until ring_give_back; 0, or -1 and errno. */
static inline int ring_register(const struct ring* r, char* at, size_t length) {
  const struct iovec whole = {at, length};
  return (int)syscall(SYS_io_uring_register, r->descriptor, IORING_REGISTER_BUFFERS, &whole, 1);
}

static inline int ring_give_back(const struct ring* r) {
  return (int)syscall(SYS_io_uring_register, r->descriptor, IORING_UNREGISTER_BUFFERS, NULL, 0);
}

/* IORING_OP_READ_FIXED or _WRITE_FIXED at the start of a file: how many bytes, or -errno. */
static inline int ring_do(const struct ring* r, int operation, int file, char* at, size_t length) {
  unsigned* tail = ring_word(r, r->params.sq_off.tail);
  const unsigned index = *tail & *ring_word(r, r->params.sq_off.ring_mask);
  r->entries[index] = (struct io_uring_sqe){.opcode = (unsigned char)operation,
                                            .fd = file,
                                            .addr = (uint64_t)(uintptr_t)at,
                                            .len = (unsigned)length};
  ring_word(r, r->params.sq_off.array)[index] = index;
  atomic_store((_Atomic unsigned*)tail, *tail + 1);
  while (syscall(SYS_io_uring_enter, r->descriptor, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0) {
    if (errno != EINTR) return -errno;
  }
  unsigned* head = ring_word(r, r->params.cq_off.head);
  while (atomic_load((_Atomic unsigned*)ring_word(r, r->params.cq_off.tail)) == *head)
    syscall(SYS_io_uring_enter, r->descriptor, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
  const unsigned done = *head & *ring_word(r, r->params.cq_off.ring_mask);
  const int result =
      ((const struct io_uring_cqe*)(const void*)(r->rings + r->params.cq_off.cqes))[done].res;
  atomic_store((_Atomic unsigned*)head, *head + 1);
  return result;
}
