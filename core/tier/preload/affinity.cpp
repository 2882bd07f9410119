// Calls that show where the program's threads may run, or hand it on to a thread, a child or
// another program. While threads fault, the pager may keep them on one processor
// (faulting_threads.h); that is nobody's business but its own, so before any of these they may all
// run where they could.
//
// fork is not among them: its handlers see to that (fork.cpp).

#include "tier/preload/affinity.h"

#include "tier/preload/exported.h"
#include "tier/preload/runtime.h"

extern "C" {

__attribute__((used, visibility("hidden"))) void nearfar_let_threads_go() noexcept {
  nearfar::tier::preload::Runtime* const tier = nearfar::tier::preload::runtime();
  if (tier != nullptr) tier->service.let_threads_go();
}

/// The same, and finds libc's own function if it is called before the constructor.
__attribute__((used, visibility("hidden"))) void nearfar_let_threads_go_before(
    const char* name, void** real) noexcept {
  nearfar_let_threads_go();
  if (*real == nullptr) *real = dlsym(RTLD_NEXT, name);
}

/// What the functions below are called, and where they find libc's own.
struct nearfar_handed_on {  // NOLINT(readability-identifier-naming): the linker's name
  const char* name;
  void** real;
};
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names
extern nearfar_handed_on __start_nearfar_handed_on[] __attribute__((visibility("hidden")));
extern nearfar_handed_on __stop_nearfar_handed_on[] __attribute__((visibility("hidden")));
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

}  // extern "C"

namespace {

/// In a signal handler, or in a child that was made while another thread had the loader's lock,
/// nothing can be looked up.
__attribute__((constructor(101))) void find_all() {
  for (auto* at = __start_nearfar_handed_on; at != __stop_nearfar_handed_on; ++at)
    if (*at->real == nullptr) *at->real = dlsym(RTLD_NEXT, at->name);
}

}  // namespace

// Each is jumped through with arguments, stack and return address as they were: some take as many
// arguments as there are, and vfork comes back twice.
// clang-format off: it would run the lines of the assembly together
#define NEARFAR_LETS_GO(name)                            \
  ".globl " #name "\n\t"                                 \
  ".type " #name ", @function\n"                         \
  #name ":\n\t"                                          \
  ".cfi_startproc\n\t"                                   \
  NEARFAR_KEEPING_ARGUMENTS(                             \
    "lea nearfar_name_of_" #name "(%rip), %rdi\n\t"      \
    "lea nearfar_real_" #name "(%rip), %rsi\n\t"         \
    "call nearfar_let_threads_go_before\n\t")            \
  "jmp *nearfar_real_" #name "(%rip)\n\t"                \
  ".cfi_endproc\n\t"                                     \
  ".size " #name ", .-" #name "\n\t"                     \
  ".pushsection .rodata\n"                               \
  "nearfar_name_of_" #name ": .asciz \"" #name "\"\n\t"  \
  ".popsection\n\t"                                      \
  ".pushsection .bss\n\t"                                \
  ".balign 8\n"                                          \
  "nearfar_real_" #name ": .skip 8\n\t"                  \
  ".popsection\n\t"                                      \
  ".pushsection nearfar_handed_on, \"aw\"\n\t"           \
  ".balign 8\n\t"                                        \
  ".quad nearfar_name_of_" #name "\n\t"                  \
  ".quad nearfar_real_" #name "\n\t"                     \
  ".popsection\n\t"

asm(".text\n\t"
    NEARFAR_LETS_GO(sched_getaffinity)
    NEARFAR_LETS_GO(sched_setaffinity)
    NEARFAR_LETS_GO(pthread_getaffinity_np)
    NEARFAR_LETS_GO(pthread_setaffinity_np)
    NEARFAR_LETS_GO(pthread_create)
    NEARFAR_LETS_GO(thrd_create)
    NEARFAR_LETS_GO(clone)
    NEARFAR_LETS_GO(__clone)
    NEARFAR_LETS_GO(vfork)
    NEARFAR_LETS_GO(__vfork)
    NEARFAR_LETS_GO(_Fork)
    NEARFAR_LETS_GO(posix_spawn)
    NEARFAR_LETS_GO(posix_spawnp)
    NEARFAR_LETS_GO(system)
    NEARFAR_LETS_GO(popen)
    NEARFAR_LETS_GO(wordexp)
    NEARFAR_LETS_GO(timer_create)
    NEARFAR_LETS_GO(mq_notify)
    NEARFAR_LETS_GO(execv)
    NEARFAR_LETS_GO(execve)
    NEARFAR_LETS_GO(execvp)
    NEARFAR_LETS_GO(execvpe)
    NEARFAR_LETS_GO(execl)
    NEARFAR_LETS_GO(execle)
    NEARFAR_LETS_GO(execlp)
    NEARFAR_LETS_GO(execveat)
    NEARFAR_LETS_GO(fexecve));
// clang-format on
