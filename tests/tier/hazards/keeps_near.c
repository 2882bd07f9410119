/* What the program wants near comes back, and stays near while other memory goes by, until it may
 * leave or is given back; no more than half of near memory can be kept so. */

#include "hazard.h"

#include <nearfar/tier.h>

enum { KEPT = 192 };

int main(void) {
  const size_t length = (size_t)KEPT * PAGE;
  char* at = far_block(KEPT, 1);
  must(nearfar_advise(at, length, NEARFAR_KEEP_NEAR) == 0, "advice to keep");
  must(resident(at, KEPT) == KEPT, "what is kept near did not come back");
  for (int i = 0; i < 8; ++i) {
    press();
    must(resident(at, KEPT) == KEPT, "what is kept near has left");
  }
  check("memory kept near", at, KEPT, 1);
  must(nearfar_advise(at, length, NEARFAR_COLD) == 0 && resident(at, KEPT) == KEPT,
       "what is kept near became cold");
  char* more = far_block(KEPT, 2);
  must(nearfar_advise(more, length, NEARFAR_KEEP_NEAR) == -1 && errno == ENOMEM,
       "more than half was kept near");
  send_far(more, KEPT);
  check("memory that could not be kept near", more, KEPT, 2);
  must(nearfar_advise(at, length, NEARFAR_MAY_LEAVE) == 0, "advice to let it leave");
  send_far(at, KEPT);
  check("memory that may leave", at, KEPT, 1);
  must(nearfar_advise(at, length, NEARFAR_KEEP_NEAR) == 0, "advice to keep it again");
  must(madvise(at, length, MADV_DONTNEED) == 0, "madvise");
  check("memory given back", at, KEPT, 0);
  fill(at, KEPT, 3);
  send_far(at, KEPT);
  check("memory used again", at, KEPT, 3);
  must(nearfar_advise(at, length, 99) == -1 && errno == EINVAL, "advice that is none");
  puts("ok");
  return 0;
}
