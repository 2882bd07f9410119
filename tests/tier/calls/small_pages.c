/* Where the system gives huge pages to all, what is kept for pages that are far must not take 2 MiB
 * for a word that is touched: it is charged by the page. */

#include "../hazards/hazard.h"

/* Private mappings without a file that may hold a huge page, and whether one may come unasked. */
static void must_all_be_small(const char* whose) {
  FILE* file = fopen("/proc/self/smaps", "r");
  must(file != NULL, "smaps");
  char line[512], name[512] = "", access[5] = "";
  unsigned long begin = 0, end = 0;
  int seen = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    unsigned long from, to;
    if (sscanf(line, "%lx-%lx %4s", &from, &to, access) == 3) {
      begin = from;
      end = to;
      name[0] = 0;
      sscanf(line, "%*s %*s %*s %*s %*s %511s", name);
    }
    if (strncmp(line, "VmFlags:", 8) != 0 || name[0] != 0) continue;
    if (access[1] != 'w' || access[3] != 'p' || end - begin < (4ul << 20)) continue;
    ++seen;
    if (strstr(line, " nh") != NULL || strstr(line, " hg") != NULL) continue;
    fprintf(stderr, "%lx-%lx of %s: %s", begin, end, whose, line);
    must(0, "huge pages come unasked");
  }
  fclose(file);
  must(seen > 0, "nothing is kept");
}

int main(void) {
  far_block(HELD, 1);
  must_all_be_small("the program");
  const pid_t child = fork();
  if (child == 0) {
    far_block(HELD, 2);
    must_all_be_small("a child");
    _exit(0);
  }
  int status = -1;
  must(waitpid(child, &status, 0) == child && status == 0, "the child");
  puts("ok");
  return 0;
}
