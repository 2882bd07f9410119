/*
 * Regular expressions over log lines, by simulation of a nondeterministic automaton: sets of states
 * as bits, so that each letter takes as long as there are states in the set.
 */
#include "measured.h"

enum { LINES = 4096, LONGEST = 96, PART = 256, MOST_STATES = 64 };

/* Each state accepts the letters of its class, and leads to itself if it repeats. */
struct automaton {
  int states;
  uint64_t accepts[256]; /* states that accept a letter */
  uint64_t repeats;
  uint64_t optional;
};

static char (*lines)[LONGEST];
static struct automaton automata[4];

static void accept_class(struct automaton* into, const char* letters) {
  const uint64_t bit = (uint64_t)1 << into->states;
  for (; *letters != 0 && *letters != ']'; ++letters) {
    if (letters[1] == '-' && letters[2] != 0) {
      for (int c = letters[0]; c <= letters[2]; ++c) into->accepts[c] |= bit;
      letters += 2;
    } else {
      into->accepts[(unsigned char)*letters] |= bit;
    }
  }
}

/* Letters, classes in brackets and the point, each with *, + or ? behind it. */
static void compile(struct automaton* into, const char* pattern) {
  while (*pattern != 0 && into->states < MOST_STATES) {
    const uint64_t bit = (uint64_t)1 << into->states;
    if (*pattern == '[') {
      accept_class(into, pattern + 1);
      pattern = strchr(pattern, ']');
    } else if (*pattern == '.') {
      for (int c = 1; c < 256; ++c) into->accepts[c] |= bit;
    } else {
      into->accepts[(unsigned char)*pattern] |= bit;
    }
    ++pattern;
    if (*pattern == '*' || *pattern == '+') into->repeats |= bit;
    if (*pattern == '*' || *pattern == '?') into->optional |= bit;
    if (*pattern == '*' || *pattern == '+' || *pattern == '?') ++pattern;
    ++into->states;
  }
}

/* Adds the states that can be reached over optional ones. */
static uint64_t closed(const struct automaton* automaton, uint64_t waiting) {
  for (uint64_t more = waiting & automaton->optional; more != 0;) {
    const uint64_t next = (more << 1) & ~waiting;
    waiting |= next;
    more = next & automaton->optional;
  }
  return waiting;
}

/* The length of the text up to the first match's end; 0 if there is none. */
static int match(const struct automaton* automaton, const char* text) {
  const uint64_t end = (uint64_t)1 << automaton->states;
  const uint64_t begin = closed(automaton, 1);
  uint64_t waiting = begin;
  for (int at = 0; text[at] != 0; ++at) {
    const uint64_t taken = waiting & automaton->accepts[(unsigned char)text[at]];
    waiting = begin | closed(automaton, (taken << 1) | (taken & automaton->repeats));
    if (waiting & end) return at + 1;
  }
  return 0;
}

static void set_up(void) {
  static const char* const kinds[] = {"GET", "POST", "PUT", "HEAD"};
  lines = memory_of(sizeof *lines * LINES);
  for (int i = 0; i < LINES; ++i) {
    snprintf(lines[i], LONGEST, "%u.%u.%u.%u %s /item/%x?page=%u HTTP/1.%u %u %u",
             random_below(256), random_below(256), random_below(256), random_below(256),
             kinds[random_below(4)], random_below(1u << 20), random_below(100), random_below(2),
             200 + random_below(305), random_below(100000));
  }
  compile(&automata[0], "[0-9]+.[0-9]+.[0-9]+.[0-9]+ GET /item/[0-9a-f]*a[0-9a-f]*b");
  compile(&automata[1], "P[A-Z]+ .*page=9[0-9]? .* 50[0-9] ");
  compile(&automata[2], "HTTP/1.1 404 [0-9]*7[0-9]*7");
  compile(&automata[3], "1[0-9]?[0-9]?.*2[0-9]*.*3[0-9]*.*HEAD");
}

static uint64_t step(uint64_t i) {
  uint64_t sum = 0;
  for (uint64_t line = i * PART; line < (i + 1) * PART; ++line) {
    for (int at = 0; at < 4; ++at) {
      sum = sum * 7 + (uint64_t)match(&automata[at], lines[line % LINES]);
    }
  }
  return sum;
}

MEASURED_MAIN(set_up, step)
