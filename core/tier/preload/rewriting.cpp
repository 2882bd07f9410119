// Under --sigbus libc's system calls, wherever in libc they are, have to pass make_held_call first.
// Each instruction that makes one becomes a jump to a stub of its own, not far from libc. The stub
// jumps to the one function below that saves what the kernel would leave alone. Most calls are
// made by that; those that come back on another stack, twice, or not at all, are made in the stub,
// with no frame of ours on the stack.
//
// To what unwinds the stack, libc's function has called ours, at the instruction that was replaced.

#include "tier/preload/rewriting.h"

#include <gnu/libc-version.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tier/preload/code.h"
#include "tier/preload/held_calls.h"
#include "tier/preload/runtime.h"

extern "C" {

__attribute__((used, visibility("hidden"))) long nearfar_rewritten_call(
    const long* saved) noexcept {
  const nearfar::tier::preload::Words words = {saved[6], saved[5], saved[4],
                                               saved[3], saved[2], saved[1]};
  return nearfar::tier::preload::make_held_call(static_cast<int>(saved[0]), words);
}

/// Jumped to with the call's registers, of which the kernel changes %rcx and %r11: these say where
/// libc goes on, and where the stub does, behind a call of its own.
void nearfar_enter_rewritten_call() __attribute__((visibility("hidden")));

}  // extern "C"

// clang-format off: it would run the lines of the assembly together
#define NEARFAR_MADE_IN_STUB(number) "cmp $" #number ", %eax\n\tje 9f\n\t"
#define NEARFAR_IN_STUB(number) NEARFAR_MADE_IN_STUB(number)
#define NEARFAR_EACH_VECTOR(one)                                                         \
  one(0) one(1) one(2) one(3) one(4) one(5) one(6) one(7) one(8) one(9) one(10) one(11) \
      one(12) one(13) one(14) one(15)
#define NEARFAR_SAVE(n) "movaps %xmm" #n ", 16*" #n "(%rsp)\n\t"
#define NEARFAR_RESTORE(n) "movaps 16*" #n "(%rsp), %xmm" #n "\n\t"
asm(".text\n\t"
    ".globl nearfar_enter_rewritten_call\n\t"
    ".hidden nearfar_enter_rewritten_call\n\t"
    ".type nearfar_enter_rewritten_call, @function\n"
    "nearfar_enter_rewritten_call:\n\t"
    ".cfi_startproc\n\t"
    ".cfi_def_cfa %rsp, 0\n\t"
    ".cfi_register %rip, %rcx\n\t"
    NEARFAR_IN_STUB(__NR_rt_sigreturn)
    NEARFAR_IN_STUB(__NR_clone)
    NEARFAR_IN_STUB(__NR_fork)
    NEARFAR_IN_STUB(__NR_vfork)
    NEARFAR_IN_STUB(__NR_clone3)
    "lea -128(%rsp), %rsp\n\t"  // what functions that call none keep below the stack's end
    ".cfi_def_cfa_offset 128\n\t"
    "push %rcx\n\t"
    ".cfi_def_cfa_offset 136\n\t"
    ".cfi_offset %rip, -136\n\t"
    "push %r11\n\t"
    "push %rbp\n\t"
    ".cfi_def_cfa_offset 152\n\t"
    ".cfi_offset %rbp, -152\n\t"
    "mov %rsp, %rbp\n\t"
    ".cfi_def_cfa_register %rbp\n\t"
    "push %rdi\n\tpush %rsi\n\tpush %rdx\n\tpush %r10\n\tpush %r8\n\tpush %r9\n\tpush %rax\n\t"
    "and $-16, %rsp\n\t"
    "sub $256, %rsp\n\t"
    NEARFAR_EACH_VECTOR(NEARFAR_SAVE)
    "lea -56(%rbp), %rdi\n\t"
    "call nearfar_rewritten_call\n\t"
    NEARFAR_EACH_VECTOR(NEARFAR_RESTORE)
    "lea -48(%rbp), %rsp\n\t"
    "pop %r9\n\tpop %r8\n\tpop %r10\n\tpop %rdx\n\tpop %rsi\n\tpop %rdi\n\t"
    "pop %rbp\n\t"
    ".cfi_restore %rbp\n\t"
    ".cfi_def_cfa %rsp, 144\n\t"
    "pop %r11\n\t"
    ".cfi_def_cfa_offset 136\n\t"
    "pop %rcx\n\t"
    ".cfi_def_cfa_offset 128\n\t"
    ".cfi_register %rip, %rcx\n\t"
    "lea 128(%rsp), %rsp\n\t"
    ".cfi_def_cfa_offset 0\n\t"
    "jmp *%r11\n"
    "9:\n\t"
    "lea -2(%r11), %r11\n\t"  // where the stub's own call is
    "jmp *%r11\n\t"
    ".cfi_endproc\n\t"
    ".size nearfar_enter_rewritten_call, .-nearfar_enter_rewritten_call\n");
// clang-format on

namespace nearfar::tier::preload {
namespace {

constexpr std::size_t of_stub = 64;  // bytes at most
constexpr std::size_t most_stubs = 1024;

/// Writes instructions one behind the other.
class Writer {
 public:
  explicit Writer(os::Place at) : at_(at) {}

  [[nodiscard]] os::Place at() const { return at_; }
  void bytes(const void* from, std::size_t count) {
    std::memcpy(os::pointer(at_), from, count);
    at_ += count;
  }
  template <typename T>
  void value(T value) {
    bytes(&value, sizeof value);
  }
  void code(std::initializer_list<unsigned char> code) {
    for (const unsigned char one : code) value(one);
  }
  void jump(os::Place to) {
    code({0xe9});
    distance(to);
  }
  void short_jump(os::Place to) {
    code({0xeb});
    value(static_cast<std::int8_t>(to - at_ - 1));
  }
  /// From behind it.
  void distance(os::Place to) { value(static_cast<std::int32_t>(to - at_ - sizeof(std::int32_t))); }

 private:
  os::Place at_;
};

/// What becomes of a call: %rcx and %r11 as the function above wants them, then that function; and
/// behind that, the call by itself, what else was replaced, and the way back.
void write_stub(os::Place at, const CallSite& site) {
  Writer stub(at);
  const os::Place behind = site.at + Code::of_call;
  if (site.form == Form::with_previous)
    stub.bytes(os::pointer(site.at - Code::of_assignment), Code::of_assignment);
  stub.code({0x48, 0xb9});  // movabs, %rcx
  stub.value(behind);
  stub.code({0x4c, 0x8d, 0x1d});  // lea of what is as far behind, %r11
  constexpr std::size_t of_distance = 4;
  constexpr std::size_t of_indirect_jump = 6;
  const os::Place tail = stub.at() + of_distance + of_indirect_jump + Code::of_call;
  stub.distance(tail);
  stub.code({0xff, 0x25});  // jmp to where the stub's last word says
  stub.distance(at + of_stub - sizeof(os::Place));
  stub.code({0x0f, 0x05});
  const std::size_t comparison =
      site.form == Form::with_next ? Code::comparison_behind(site.at) : 0;
  stub.bytes(os::pointer(behind), comparison);
  stub.jump(behind + comparison);
  Writer(at + of_stub - sizeof(os::Place))
      .value(os::place(reinterpret_cast<const void*>(&nearfar_enter_rewritten_call)));
}

void replace(const CallSite& site, os::Place stub) {
  switch (site.form) {
    case Form::none:
      return;
    case Form::with_next:
      return Writer(site.at).jump(stub);
    case Form::with_previous:
      return Writer(site.at - Code::of_assignment).jump(stub);
    case Form::by_hop:
      Writer(site.hop).jump(stub);
      return Writer(site.at).short_jump(site.hop);
  }
}

/// For stubs; 0: there is none.
os::Place room_for_stubs = 0;

bool is_in_reach(const Code& code, os::Place at) {
  constexpr os::Place reach = INT32_MAX;
  const os::Place lowest = std::min(code.begin(), at);
  return std::max(code.end(), at + most_stubs * of_stub) - lowest < reach;
}

struct Segment {
  os::Place begin = 0;
  os::Place end = 0;
};

/// The instructions of libc.
int find_libc(dl_phdr_info* library, std::size_t /*size*/, void* found) {
  const char* const slash = std::strrchr(library->dlpi_name, '/');
  if (slash == nullptr || std::strncmp(slash, "/libc.so.", 9) != 0) return 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& segment = library->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const os::Place begin = library->dlpi_addr + segment.p_vaddr;
    *static_cast<Segment*>(found) = {begin, begin + segment.p_memsz};
    return 1;
  }
  return 0;
}

/// Whether libc is of glibc 2.41 or later.
bool is_of_2_41() {
  constexpr unsigned long minor = 41;
  const char* const version = gnu_get_libc_version();
  return std::strncmp(version, "2.", 2) != 0 || std::strtoul(version + 2, nullptr, 10) >= minor;
}

/// Rewrites all calls that can be. Returns 0, or why none could be.
long rewrite(Code& code) {
  std::size_t calls = 0;
  code.for_each_call([&](os::Place) { ++calls; });
  const os::Place stubs = room_for_stubs;
  if (calls == 0 || calls > most_stubs) return -ENOEXEC;
  const os::Place first = code.begin() / os::page_bytes * os::page_bytes;
  const std::size_t length = code.end() - first;
  if (stubs == 0 || !is_in_reach(code, stubs)) return -ENOMEM;
  // Executable meanwhile, too: what copies bytes here is libc's.
  constexpr int all = PROT_READ | PROT_WRITE | PROT_EXEC;
  if (const long error = os::protect(first, length, all); error != 0) return error;
  os::Place stub = stubs;
  code.for_each_call([&](os::Place call) {
    const CallSite site = code.find_form(call);
    if (site.form == Form::none) return;
    write_stub(stub, site);
    replace(site, stub);
    stub += of_stub;
  });
  const long error = os::protect(first, length, PROT_READ | PROT_EXEC);
  return error != 0 ? error : os::protect(stubs, most_stubs * of_stub, PROT_READ | PROT_EXEC);
}

}  // namespace

void reserve_room_beside_libraries() { room_for_stubs = os::reserve(most_stubs * of_stub); }

void rewrite_calls() {
  constexpr const char* refused =
      "--sigbus: the system calls of this program's libc cannot be found or not be replaced; leave "
      "the option out";
  constexpr const char* too_new =
      "--sigbus: this program's libc is of glibc 2.41 or later, whose system calls at which "
      "threads "
      "can be cancelled cannot be replaced; leave the option out";
  Segment libc;
  dl_iterate_phdr(find_libc, &libc);
  if (libc.begin == 0) os::fail(refused, -ENOENT);
  Code code(libc.begin, libc.end);
  if (code.is_cancelled_at_one_call() || is_of_2_41()) os::fail(too_new);
  const long error = code.is_read() ? rewrite(code) : -ENOMEM;
  if (error != 0) os::fail(refused, error);
  hold_calls();
}

}  // namespace nearfar::tier::preload
