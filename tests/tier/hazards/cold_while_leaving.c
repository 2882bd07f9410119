/* Advice that memory is cold, of pages that the policy has named already, as parts of 2 MiB that
 * are to leave as one, and that cannot leave just then. */

#include "hazard.h"

#include <nearfar/tier.h>

enum { GROUP = 512, GROUPS = 50, FILLED = 20000, COLD = 16, TIMES = 2 };
static const size_t when[TIMES] = {2000, 14000};  // of the other pages, when some have been named

int main(void) {
  char* const groups = fresh((size_t)GROUPS * GROUP);
  for (size_t i = 0; i < (size_t)GROUPS * GROUP; ++i)
    *(uint64_t*)(void*)(groups + i * PAGE) = word(1, i);
  char* const others = fresh(FILLED);
  for (size_t i = 0; i < FILLED; ++i) {
    *(uint64_t*)(void*)(others + i * PAGE) = word(2, i);
    for (size_t time = 0; time < TIMES; ++time) {
      for (size_t g = 0; i == when[time] && g < GROUPS; ++g) {
        char* const at = groups + (g * GROUP + time * 100) * PAGE;
        must(mprotect(at, COLD * PAGE, PROT_READ) == 0, "mprotect");
        must(nearfar_advise(at, COLD * PAGE, NEARFAR_COLD) == 0, "advice");
        must(mprotect(at, COLD * PAGE, PROT_READ | PROT_WRITE) == 0, "mprotect back");
      }
    }
  }
  for (int round = 0; round < 8; ++round) {
    for (size_t i = 0; i < (size_t)GROUPS * GROUP; ++i)
      must(*(uint64_t*)(void*)(groups + i * PAGE) == word(1, i), "a page of a group was lost");
    for (size_t i = 0; i < FILLED; ++i)
      must(*(uint64_t*)(void*)(others + i * PAGE) == word(2, i), "another page was lost");
  }
  puts("ok");
  return 0;
}
