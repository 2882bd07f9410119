/* Plays requests from standard input on a memory, and prints when each was accepted and done.
 *
 *   nearfar model export optane-100 -o optane.model       (or the name of a preset)
 *   cc replay.c $(nearfar lib --cflags --libs) -o replay
 *   echo "0 0x40 R" | ./replay optane.model
 *
 * A request is a line: TIME_PS ADDRESS R|W, in order of time. The memory's counters
 * follow the requests. This host has nothing else to do while the memory is full; replay.cpp is
 * one that has.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <nearfar/memory.h>

struct line {
  uint64_t due, address, accepted, done;
  char op;
};

struct host {
  nearfar_memory* memory;
  struct line* lines;
  size_t count;
};

static void check(int status) {
  if (status >= 0) return;
  fprintf(stderr, "replay: %s\n", nearfar_error());
  exit(2);
}

static void read_requests(struct host* host) {
  size_t room = 0;
  struct line line = {0, 0, 0, 0, 0};
  while (scanf("%" SCNu64 " %" SCNi64 " %c", &line.due, (int64_t*)&line.address, &line.op) == 3) {
    if (host->count == room) {
      room = room == 0 ? 1024 : 2 * room;
      host->lines = realloc(host->lines, room * sizeof line);
      if (host->lines == NULL) exit(1);
    }
    host->lines[host->count++] = line;
  }
}

/* Plays up to the next completions, unless some are there, and takes them. */
static void step(struct host* host) {
  nearfar_completion come[16];
  const int count = nearfar_memory_wait(host->memory, NEARFAR_NEVER, come, 16);
  check(count);
  for (int i = 0; i < count; ++i) {
    if (come[i].kind == NEARFAR_DONE) host->lines[come[i].id].done = come[i].time_ps;
  }
}

static void play(struct host* host) {
  for (size_t i = 0; i < host->count; ++i) {
    struct line* line = &host->lines[i];
    nearfar_request request = {0};
    request.id = i;
    request.address = line->address;
    request.op = line->op == 'W' ? NEARFAR_WRITE : NEARFAR_READ;
    const uint64_t now = nearfar_memory_now(host->memory);
    check(nearfar_memory_send_when_free(host->memory, &request, line->due > now ? line->due : now));
    line->accepted = nearfar_memory_now(host->memory);
  }
  while (nearfar_memory_next_event(host->memory) != NEARFAR_NEVER) step(host);
}

static void print(const struct host* host) {
  for (size_t i = 0; i < host->count; ++i) {
    printf("%" PRIu64 " %" PRIu64 "\n", host->lines[i].accepted, host->lines[i].done);
  }
  for (size_t i = 0; i < nearfar_memory_counters(host->memory); ++i) {
    const char* name = nearfar_memory_counter_name(host->memory, i);
    uint64_t value = 0;
    check(nearfar_memory_counter(host->memory, name, &value));
    printf("%s = %" PRIu64 "\n", name, value);
  }
}

int main(int argc, char** argv) {
  struct host host = {NULL, NULL, 0};
  if (argc != 2) {
    fprintf(stderr, "usage: replay MODEL <REQUESTS\n");
    return 2;
  }
  check(nearfar_memory_open(argv[1], &host.memory));
  read_requests(&host);
  play(&host);
  print(&host);
  nearfar_memory_destroy(host.memory);
  free(host.lines);
  return 0;
}
