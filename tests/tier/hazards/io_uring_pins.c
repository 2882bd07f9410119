/* io_uring pins registered buffers: a device may write to them at any time, so they must not leave
 * their place. What the kernel put there is what the program finds, however short memory is. */

#include "hazard.h"
// after hazard.h, which asks for all of libc
#include "../ring.h"

static struct ring ring;

static void do_fixed(int operation, int file, char* at, size_t length) {
  const int done = ring_do(&ring, operation, file, at, length);
  errno = done < 0 ? -done : 0;
  must(done == (int)length, "a read or write of a registered buffer");
}

int main(void) {
  const size_t length = (size_t)HELD * PAGE;
  ring_start(&ring);
  if (ring.descriptor < 0) {
    puts("no io_uring here");
    return 0;
  }
  char* buffer = far_block(HELD, 1);
  must(ring_register(&ring, buffer, length) == 0, "registering a buffer");
  check("a far buffer when it is registered", buffer, HELD, 1);
  const int file = memfd_create("file", 0);
  must(file >= 0, "memfd_create");
  for (uint64_t seed = 2; seed < 6; ++seed) {
    fill(buffer, HELD, seed);
    press();
    do_fixed(IORING_OP_WRITE_FIXED, file, buffer, length);
    fill(buffer, HELD, 77);
    press();
    do_fixed(IORING_OP_READ_FIXED, file, buffer, length);
    check("a registered buffer", buffer, HELD, seed);
    press();
    check("a registered buffer, later", buffer, HELD, seed);
  }
  must(ring_give_back(&ring) == 0, "giving a buffer back");
  send_far(buffer, HELD);
  check("a buffer that is registered no more", buffer, HELD, 5);
  puts("ok");
  return 0;
}
