#pragma once

#include <stddef.h>
#include <stdint.h>

double now(void);
uint64_t next_random(uint64_t* state);

/// Memory of which `near` bytes at most are in RAM, in the design of KIT's library.
void* kit_map(size_t bytes, size_t near, const char* far_file);

/// Programs with a heap of about `bytes`: how much they do of their kind is `amount`. They say
/// what they did and how much they allocated, and return a sum over the result.
uint64_t price_options(size_t bytes, double amount, uint64_t* operations, size_t* allocated);
uint64_t mine_itemsets(size_t bytes, double amount, uint64_t* operations, size_t* allocated);

/// Rounds from one thread to another and back in so many seconds, on one processor.
uint64_t switch_threads(double seconds);
