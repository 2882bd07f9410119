#pragma once

#include <stddef.h>
#include <stdint.h>

/// A sequence that is the same everywhere: xorshift64* (Vigna 2016).
static inline uint64_t next_random(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state * 0x2545f4914f6cdd1dU;
}

/// Programs with a heap of about `bytes`: how much they do of their kind is `amount`. They say
/// what they did and how much they allocated, and return a sum over the result.
uint64_t price_options(size_t bytes, double amount, uint64_t* operations, size_t* allocated);
uint64_t mine_itemsets(size_t bytes, double amount, uint64_t* operations, size_t* allocated);
