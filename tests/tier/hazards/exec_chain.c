/* A program becomes itself again and again: exec_chain TIMES. Each has memory of its own. */

#include "hazard.h"

int main(int count, char** arguments) {
  must(count == 2, "exec_chain TIMES");
  const int left = atoi(arguments[1]);
  char* at = far_block(HELD, (uint64_t)left + 1);
  check("far memory", at, HELD, (uint64_t)left + 1);
  if (left == 0) {
    puts("ok");
    return 0;
  }
  char* next = fresh(1);
  snprintf(next, PAGE, "%d", left - 1);
  send_far(next, 1);
  execl(arguments[0], arguments[0], next, NULL);
  must(0, "execl");
}
