#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../examples/programs/kit/heap_programs.h"

double now(void);

/// Memory of which `near` bytes at most are in RAM, in the design of KIT's library.
void* kit_map(size_t bytes, size_t near, const char* far_file);

/// Rounds from one thread to another and back in so many seconds, on one processor.
uint64_t switch_threads(double seconds);
