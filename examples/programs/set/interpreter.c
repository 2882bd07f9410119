/*
 * An interpreter of a small machine with registers, running a sieve, a sort and a count of Collatz
 * steps: one indirect jump an instruction, which follows the interpreted program.
 */
#include "measured.h"

enum { MEMORY = 1 << 14, INSTRUCTIONS = 20000 };

enum operation { SET, MOVE, ADD, ADD_TO, MULTIPLY, SHIFT, AND, LOAD, STORE, JUMP, LESS, EQUAL };

/* `a` is mostly the register that changes; LESS and EQUAL jump to `a` if b is less than, or c. */
struct instruction {
  uint8_t operation;
  uint8_t b, c;
  int32_t a;
  int64_t value;
};

static int64_t registers[16];
static int64_t* memory;
static int counter;

#define R(number) registers[(number) & 15]

/* Registers: 0 is zero, 1 the round, 2 to 9 what a part needs, 15 the result. */
static const struct instruction program[] = {
    /* 0: the sieve of numbers below 2000 */
    {SET, 0, 0, 2, 2},
    {SET, 0, 0, 3, 2000},
    {STORE, 2, 0, 0, 0}, /* clear: memory[r2] = r0 */
    {ADD, 2, 0, 2, 1},
    {LESS, 2, 3, 2, 0},
    {SET, 0, 0, 2, 2},
    {SET, 0, 0, 8, 1},
    {LOAD, 2, 0, 4, 0}, /* 7: for each number that is not marked */
    {EQUAL, 4, 8, 14, 0},
    {ADD_TO, 2, 2, 5, 0}, /* r5 = 2 * r2: mark the multiples */
    {LESS, 3, 5, 14, 0},
    {STORE, 5, 8, 0, 0},
    {ADD_TO, 5, 2, 5, 0},
    {LESS, 5, 3, 11, 0},
    {ADD, 2, 0, 2, 1}, /* 14 */
    {LESS, 2, 3, 7, 0},
    /* 16: fill 100 places with scrambled numbers and sort them by insertion */
    {SET, 0, 0, 2, 0},
    {SET, 0, 0, 3, 100},
    {MULTIPLY, 6, 0, 6, 1103515245}, /* 18 */
    {ADD, 6, 0, 6, 12345},
    {AND, 6, 0, 6, 0x7fffffff},
    {STORE, 2, 6, 0, 4000},
    {ADD, 2, 0, 2, 1},
    {LESS, 2, 3, 18, 0},
    {SET, 0, 0, 2, 1},
    {LOAD, 2, 0, 4, 4000}, /* 25: r4 is inserted */
    {MOVE, 2, 0, 5, 0},
    {EQUAL, 5, 0, 32, 0}, /* 27 */
    {LOAD, 5, 0, 7, 3999},
    {LESS, 7, 4, 32, 0},
    {STORE, 5, 7, 0, 4000},
    {ADD, 5, 0, 5, -1},
    {STORE, 5, 4, 0, 4000}, /* 32, and from 31 */
    {LESS, 0, 5, 35, 0},    /* at the beginning, or in its place? */
    {JUMP, 0, 0, 37, 0},
    {LOAD, 5, 0, 7, 3999}, /* 35 */
    {LESS, 4, 7, 27, 0},
    {ADD, 2, 0, 2, 1}, /* 37 */
    {LESS, 2, 3, 25, 0},
    /* 39: Collatz steps of 200 numbers behind the round's */
    {AND, 1, 0, 2, 0xffff},
    {ADD, 2, 0, 3, 200},
    {ADD, 2, 0, 4, 1}, /* 41 */
    {SET, 0, 0, 8, 1},
    {EQUAL, 4, 8, 52, 0}, /* 43 */
    {ADD, 15, 0, 15, 1},
    {AND, 4, 0, 5, 1},
    {EQUAL, 5, 0, 50, 0},
    {MULTIPLY, 4, 0, 4, 3},
    {ADD, 4, 0, 4, 1},
    {JUMP, 0, 0, 43, 0},
    {SHIFT, 4, 0, 4, 1}, /* 50 */
    {JUMP, 0, 0, 43, 0},
    {ADD, 2, 0, 2, 1}, /* 52 */
    {LESS, 2, 3, 41, 0},
    {ADD, 1, 0, 1, 200},
    {JUMP, 0, 0, 0, 0},
};

static void set_up(void) { memory = memory_of(MEMORY * sizeof *memory); }

static void execute(const struct instruction* now) {
  switch (now->operation) {
    case SET:
      R(now->a) = now->value;
      return;
    case MOVE:
      R(now->a) = R(now->b);
      return;
    case ADD:
      R(now->a) = R(now->b) + now->value;
      return;
    case ADD_TO:
      R(now->a) = R(now->b) + R(now->c);
      return;
    case MULTIPLY:
      R(now->a) = (int64_t)((uint64_t)R(now->b) * (uint64_t)now->value);
      return;
    case SHIFT:
      R(now->a) = R(now->b) >> now->value;
      return;
    case AND:
      R(now->a) = R(now->b) & now->value;
      return;
    case LOAD:
      R(now->a) = memory[(R(now->b) + now->value) & (MEMORY - 1)];
      return;
    case STORE:
      memory[(R(now->b) + now->value) & (MEMORY - 1)] = R(now->c);
      return;
    case JUMP:
      counter = now->a;
      return;
    case LESS:
      counter = R(now->b) < R(now->c) ? now->a : counter;
      return;
    default:
      counter = R(now->b) == R(now->c) ? now->a : counter;
      return;
  }
}

static uint64_t step(uint64_t i) {
  for (int done = 0; done < INSTRUCTIONS; ++done) execute(&program[counter++]);
  uint64_t sum = i + (uint64_t)counter;
  for (int at = 0; at < 16; ++at) sum = sum * 3 + (uint64_t)registers[at];
  return sum;
}

MEASURED_MAIN(set_up, step)
