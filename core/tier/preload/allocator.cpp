// mimalloc leaves errno alone where it finds no memory, and libc sets it: programs say why they end
// by it. What is to be called then is mimalloc's to remember, and costs nothing before.

#include <cerrno>

extern "C" {
/// Of the allocator that is loaded beside this library, if it is that.
__attribute__((weak)) void mi_register_error(void (*handler)(int error, void* argument),
                                             void* argument);
}

namespace nearfar::tier::preload {
namespace {

void tell_of_no_memory(int error, void* /*argument*/) {
  if (error == ENOMEM || error == EOVERFLOW) errno = ENOMEM;
}

__attribute__((constructor)) void hear_of_no_memory() {
  if (mi_register_error != nullptr) mi_register_error(tell_of_no_memory, nullptr);
}

}  // namespace
}  // namespace nearfar::tier::preload
