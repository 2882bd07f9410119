// A library that is loaded to find its symbols in itself and in what it needs first (RTLD_DEEPBIND)
// would get libc's malloc, where the program has another: what one of the two allocates, the other
// frees. PHP loads its extensions so. Here it finds them where everybody does.

#include "tier/preload/exported.h"

namespace nearfar::tier::preload {
namespace {

using Dlopen = void*(const char*, int);

__attribute__((used)) Dlopen* libc_dlopen() {
  static Dlopen* found = nullptr;
  if (found == nullptr) found = next<Dlopen>("dlopen");
  return found;
}
static_assert(RTLD_DEEPBIND == 8);

}  // namespace
}  // namespace nearfar::tier::preload

/// libc looks for the library along the path of whoever calls, which it tells by where it is to
/// return to: so it is not called from here, but gone on to.
NEARFAR_EXPORT __attribute__((naked)) void* dlopen(const char* /*file*/, int /*mode*/) {
  asm("push %%rdi\n\t"
      "push %%rsi\n\t"
      "sub $8, %%rsp\n\t"
      "call %P0\n\t"
      "add $8, %%rsp\n\t"
      "pop %%rsi\n\t"
      "pop %%rdi\n\t"
      "and $~8, %%esi\n\t"
      "jmp *%%rax"
      :
      : "i"(nearfar::tier::preload::libc_dlopen));
}
