// A library that is loaded to find its symbols in itself and in what it needs first (RTLD_DEEPBIND)
// would get libc's malloc, where the program has another: what one of the two allocates, the other
// frees. PHP loads its extensions so. Here it finds them where other libraries do.

#include "tier/preload/exported.h"

namespace nearfar::tier::preload {
namespace {

void* (*libc_dlopen)(const char*, int);
__attribute__((constructor(101))) void find_dlopen() {
  libc_dlopen = next<void*(const char*, int)>("dlopen");
}
static_assert(RTLD_DEEPBIND == 8);

}  // namespace
}  // namespace nearfar::tier::preload

/// libc looks for the library along the path of its caller, which it tells by its return
/// address: so this function jumps to it and does not call it.
NEARFAR_EXPORT __attribute__((naked)) void* dlopen(const char* /*file*/, int /*mode*/) {
  asm("and $~8, %%esi\n\t"
      "jmp *%P0(%%rip)"
      :
      : "i"(&nearfar::tier::preload::libc_dlopen));
}
