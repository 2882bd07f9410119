// Calls that show where the program's threads may run, or hand it on to a thread, a child or
// another program. While threads fault, the pager may keep them on one processor
// (faulting_threads.h); the program must not see that, so before any of these calls they may all
// run where they could.
//
// fork, _Fork and clone are not among them: fork.cpp and raw_fork.cpp see to that.

#include "tier/preload/affinity.h"

#include "tier/preload/exported.h"
#include "tier/preload/outside.h"
#include "tier/preload/runtime.h"

namespace {

/// Finds libc's own function, unless that has been done.
void find(const char* name, void** real) noexcept {
  if (*real == nullptr) *real = dlsym(RTLD_NEXT, name);
}

}  // namespace

extern "C" {

__attribute__((used, visibility("hidden"))) void nearfar_release_threads() noexcept {
  nearfar::tier::preload::Runtime* const tier = nearfar::tier::preload::runtime();
  if (tier != nullptr) tier->service.release_threads();
}

/// The same before that function, which is found if it is called before the constructor.
__attribute__((used, visibility("hidden"))) void nearfar_release_threads_before(
    const char* name, void** real) noexcept {
  nearfar_release_threads();
  find(name, real);
}

/// The same of a function that executes a program, with its arguments.
__attribute__((used, visibility("hidden"))) void nearfar_before_program(
    const char* name, void** real, const long* saved) noexcept {
  nearfar_release_threads_before(name, real);
  nearfar::tier::preload::note_program(name, saved);
}

/// The same until that function has returned, when the other of these is called.
__attribute__((used, visibility("hidden"))) void nearfar_release_threads_while(
    const char* name, void** real) noexcept {
  nearfar::tier::preload::Runtime* const tier = nearfar::tier::preload::runtime();
  if (tier != nullptr) tier->service.begin_release();
  find(name, real);
}
__attribute__((used, visibility("hidden"))) void nearfar_while_program_starts(
    const char* name, void** real, const long* saved) noexcept {
  nearfar_release_threads_while(name, real);
  nearfar::tier::preload::note_program(name, saved);
}
__attribute__((used, visibility("hidden"))) void nearfar_end_release() noexcept {
  nearfar::tier::preload::Runtime* const tier = nearfar::tier::preload::runtime();
  if (tier != nullptr) tier->service.end_release();
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
    find(at->name, at->real);
}

}  // namespace

// clang-format off: it would run the lines of the assembly together
#define NEARFAR_BEFORE(name, let_go, then)               \
  ".globl " #name "\n\t"                                 \
  ".type " #name ", @function\n"                         \
  #name ":\n\t"                                          \
  ".cfi_startproc\n\t"                                   \
  NEARFAR_KEEPING_ARGUMENTS(                             \
    "lea nearfar_name_of_" #name "(%rip), %rdi\n\t"      \
    "lea nearfar_real_" #name "(%rip), %rsi\n\t"         \
    "mov %rsp, %rdx\n\t"                                \
    "call " #let_go "\n\t")                              \
  then                                                   \
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

// Jumped through with arguments, stack and return address as they were: some take as many arguments
// as there are, vfork comes back twice, and some do not for long or at all.
#define NEARFAR_JUMP(name, before)                       \
  NEARFAR_BEFORE(name, before,                           \
    "jmp *nearfar_real_" #name "(%rip)\n\t")
#define NEARFAR_RELEASES(name) NEARFAR_JUMP(name, nearfar_release_threads_before)
#define NEARFAR_EXECUTES(name) NEARFAR_JUMP(name, nearfar_before_program)

// Called with what registers hold: six arguments at most, and one result.
#define NEARFAR_CALL(name, before)                       \
  NEARFAR_BEFORE(name, before,                           \
    "sub $8, %rsp\n\t"                                   \
    ".cfi_adjust_cfa_offset 8\n\t"                       \
    "call *nearfar_real_" #name "(%rip)\n\t"             \
    "mov %rax, (%rsp)\n\t"                               \
    "call nearfar_end_release\n\t"                \
    "pop %rax\n\t"                                       \
    ".cfi_adjust_cfa_offset -8\n\t"                      \
    "ret\n\t")
#define NEARFAR_RELEASES_MEANWHILE(name) NEARFAR_CALL(name, nearfar_release_threads_while)
#define NEARFAR_STARTS(name) NEARFAR_CALL(name, nearfar_while_program_starts)

asm(".text\n\t"
    NEARFAR_RELEASES_MEANWHILE(sched_getaffinity)
    NEARFAR_RELEASES_MEANWHILE(sched_setaffinity)
    NEARFAR_RELEASES_MEANWHILE(pthread_getaffinity_np)
    NEARFAR_RELEASES_MEANWHILE(pthread_setaffinity_np)
    NEARFAR_RELEASES_MEANWHILE(pthread_create)
    NEARFAR_RELEASES_MEANWHILE(thrd_create)
    NEARFAR_STARTS(posix_spawn)
    NEARFAR_STARTS(posix_spawnp)
    NEARFAR_RELEASES(vfork)
    NEARFAR_RELEASES(__vfork)
    NEARFAR_RELEASES(system)
    NEARFAR_RELEASES(popen)
    NEARFAR_RELEASES(wordexp)
    NEARFAR_RELEASES(timer_create)
    NEARFAR_RELEASES(mq_notify)
    NEARFAR_EXECUTES(execv)
    NEARFAR_EXECUTES(execve)
    NEARFAR_EXECUTES(execvp)
    NEARFAR_EXECUTES(execvpe)
    NEARFAR_EXECUTES(execl)
    NEARFAR_RELEASES(execle)
    NEARFAR_EXECUTES(execlp)
    NEARFAR_EXECUTES(execveat)
    NEARFAR_RELEASES(fexecve));
// clang-format on
