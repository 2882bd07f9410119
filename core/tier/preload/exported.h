#pragma once

#include <dlfcn.h>

#include <cerrno>

#include "tier/os/system.h"

// A function of libc's that this library answers in its place.
#define NEARFAR_EXPORT extern "C" __attribute__((visibility("default")))

/// A system call that the program makes, through a function that this library answers: where it has
/// forbidden itself that (sandbox.cpp), it fails. Returns -errno.
extern "C" __attribute__((visibility("hidden"))) long nearfar_program_call(long number, long a,
                                                                           long b, long c, long d,
                                                                           long e, long f) noexcept;

namespace nearfar::tier::preload {

/// What a function of libc's returns for -errno or another value: -1 and errno, or the value.
inline long answer(long value) noexcept {
  constexpr long most_errors = 4095;
  if (value >= 0 || value < -most_errors) return value;
  errno = static_cast<int>(-value);
  return -1;
}
inline int status(long value) noexcept { return static_cast<int>(answer(value)); }
inline void* result(long value) noexcept {
  return os::pointer(static_cast<os::Place>(answer(value)));
}

/// libc's own function behind one that this library exports. For the program's threads only.
template <typename Function>
[[nodiscard]] Function* next(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace nearfar::tier::preload
