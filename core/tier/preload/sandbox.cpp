// Programs that forbid themselves system calls (seccomp), and with theirs the pager's, which are in
// the same process: all of a browser's parts do. Each filter gets a head that lets this library's
// own instructions go on with what the pager needs, and leaves all else to the program's filter.
//
// So a program that has lost to an attacker could be made to jump to these instructions. What they
// let through touches memory of the process and files that it has open, no more; but of the far
// file each process of a tree has all, with what the others have far (docs/tiering.md).

#include "tier/preload/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "tier/os/page_map.h"
#include "tier/os/uffd.h"

extern "C" {
// Where this library's instructions are; the linker's names.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern const char __ehdr_start __attribute__((visibility("hidden")));
extern const char etext __attribute__((visibility("hidden")));
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
/// The one function that makes any call for the program (syscall.cpp), and where it ends.
extern const char nearfar_syscall __attribute__((visibility("hidden")));
extern const char nearfar_syscall_end __attribute__((visibility("hidden")));
}

namespace nearfar::tier::preload {
namespace {

/// Whatever their arguments are. Of others: what a userfaultfd and the page map are asked for
/// (`ioctl`), a signal that is none, by which one learns whether a process has ended, and how a
/// file is open (`fcntl`).
constexpr std::array needed_calls{
    __NR_read,       __NR_write,       __NR_pread64,        __NR_pwrite64,      __NR_lseek,
    __NR_poll,       __NR_futex,       __NR_madvise,        __NR_mincore,       __NR_fallocate,
    __NR_getpid,     __NR_gettid,      __NR_rt_sigprocmask, __NR_nanosleep,     __NR_clock_gettime,
    __NR_pidfd_open, __NR_sched_yield, __NR_kcmp,           __NR_set_mempolicy, __NR_move_pages,
    __NR_fstat,      __NR_getsockopt,  __NR_sigaltstack,
};

/// A program of the kernel's packet filter, with jumps to what follows later.
class Head {
 public:
  enum Label : std::uint8_t { on, is_own, is_ioctl, is_kill, is_fcntl, allow, out, labels };

  void load(std::size_t offset) {
    add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
  }
  void add(unsigned code, std::uint32_t operand, Label yes = on, Label no = on) {
    jumps_[count_] = {yes, no};
    program_[count_++] = {static_cast<std::uint16_t>(code), 0, 0, operand};
  }
  void jump_if(unsigned test, std::uint32_t operand, Label yes, Label no) {
    add(BPF_JMP | test | BPF_K, operand, yes, no);
  }
  void place(Label label) { at_[label] = count_; }

  /// With all jumps to where the labels are.
  [[nodiscard]] std::span<const sock_filter> finish() {
    const auto distance = [&](std::size_t from, Label to) {
      return static_cast<std::uint8_t>(to == on ? 0 : at_[to] - from - 1);
    };
    for (std::size_t i = 0; i < count_; ++i) {
      program_[i].jt = distance(i, jumps_[i].yes);
      program_[i].jf = distance(i, jumps_[i].no);
    }
    return std::span(program_).first(count_);
  }

 private:
  struct Jumps {
    Label yes;
    Label no;
  };
  static constexpr std::size_t most = needed_calls.size() + 31;

  std::array<sock_filter, most> program_{};
  std::array<Jumps, most> jumps_{};
  std::array<std::size_t, labels> at_{};
  std::size_t count_ = 0;
};

constexpr std::uint32_t low(os::Place at) { return static_cast<std::uint32_t>(at); }
constexpr std::uint32_t high(os::Place at) { return static_cast<std::uint32_t>(at >> 32U); }

/// Instructions of this library, all of whose addresses have the same upper half, but for those
/// that are the program's.
struct Own {
  os::Place begin = os::place(&__ehdr_start);
  os::Place end = os::place(&etext);
  os::Place program_begin = os::place(&nearfar_syscall);
  os::Place program_end = os::place(&nearfar_syscall_end);
};

std::span<const sock_filter> write_head(Head& head, const Own& own) {
  constexpr std::size_t upper = sizeof(std::uint32_t);
  constexpr std::size_t instruction = offsetof(seccomp_data, instruction_pointer);
  constexpr std::size_t second_argument = offsetof(seccomp_data, args) + sizeof(std::uint64_t);
  head.load(offsetof(seccomp_data, arch));
  head.jump_if(BPF_JEQ, AUDIT_ARCH_X86_64, Head::on, Head::out);
  head.load(instruction + upper);
  head.jump_if(BPF_JEQ, high(own.begin), Head::on, Head::out);
  head.load(instruction);
  head.jump_if(BPF_JGE, low(own.begin), Head::on, Head::out);
  head.jump_if(BPF_JGE, low(own.end), Head::out, Head::on);
  head.jump_if(BPF_JGE, low(own.program_end), Head::is_own, Head::on);
  head.jump_if(BPF_JGE, low(own.program_begin), Head::out, Head::on);
  head.place(Head::is_own);
  head.load(offsetof(seccomp_data, nr));
  for (const int call : needed_calls)
    head.jump_if(BPF_JEQ, static_cast<std::uint32_t>(call), Head::allow, Head::on);
  head.jump_if(BPF_JEQ, __NR_ioctl, Head::is_ioctl, Head::on);
  head.jump_if(BPF_JEQ, __NR_fcntl, Head::is_fcntl, Head::on);
  head.jump_if(BPF_JEQ, __NR_kill, Head::is_kill, Head::out);
  head.place(Head::is_ioctl);
  head.load(second_argument);
  for (const std::uint32_t request : os::KernelUffd::requests())
    head.jump_if(BPF_JEQ, request, Head::allow, Head::on);
  head.jump_if(BPF_JEQ, os::PageMap::request(), Head::allow, Head::out);
  head.place(Head::is_kill);
  head.load(second_argument);
  head.jump_if(BPF_JEQ, 0, Head::allow, Head::out);
  head.place(Head::is_fcntl);
  head.load(second_argument);
  head.jump_if(BPF_JEQ, F_GETFL, Head::allow, Head::out);
  head.place(Head::allow);
  head.add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  head.place(Head::out);
  head.add(BPF_LD | BPF_IMM, 0);  // as a program's filter begins
  return head.finish();
}

/// Whether the process has something at these addresses; the kernel refuses a filter elsewhere.
bool is_mapped(const void* at, std::size_t bytes) {
  std::array<unsigned char, BPF_MAXINSNS * sizeof(sock_filter) / os::page_bytes + 2> pages;
  const os::Place begin = os::place(at) / os::page_bytes * os::page_bytes;
  const std::size_t length = os::place(at) + bytes - begin;
  return os::call(__NR_mincore, os::word(begin), os::word(length), os::word(pages.data())) == 0;
}

/// This thread, or all of them, are about to be forbidden calls. What all are, the pager's are,
/// too; and the kernel tells of the first thread only, so what that one is might be for all. A
/// child that shares this memory (vfork) forbids itself only.
void is_to_be_forbidden(Runtime& tier, bool all_threads) {
  if (os::call(all_threads ? __NR_getpid : __NR_gettid) == tier.service.process())
    tier.service.ask({.kind = Request::Kind::be_sandboxed});
}

/// Installs a filter by a call that takes it as its argument: behind the head, if that can be and
/// there is room for both. On the stack, as threads install theirs side by side, and others fork.
template <typename Call>
long install(long filter, bool all_threads, Call call) {
  Runtime* const tier = runtime();
  const auto* const given = os::pointer<const sock_fprog>(static_cast<os::Place>(filter));
  if (tier == nullptr || given == nullptr || !is_mapped(given, sizeof *given)) return call(filter);
  is_to_be_forbidden(*tier, all_threads);
  const Own own;
  Head head;
  const auto first = write_head(head, own);
  const std::size_t bytes = given->len * sizeof(sock_filter);
  if (given->len == 0 || first.size() + given->len > BPF_MAXINSNS ||
      high(own.begin) != high(own.end) || !is_mapped(given->filter, bytes))
    return call(filter);
  auto* const both = static_cast<sock_filter*>(__builtin_alloca(first.size_bytes() + bytes));
  std::memcpy(both, first.data(), first.size_bytes());
  std::memcpy(both + first.size(), given->filter, bytes);
  const sock_fprog program{.len = static_cast<unsigned short>(first.size() + given->len),
                           .filter = both};
  return call(os::word(&program));
}

}  // namespace

long seccomp(long operation, long flags, long filter) {
  const auto plain = [&](long given) { return os::call(__NR_seccomp, operation, flags, given); };
  if (operation != SECCOMP_SET_MODE_FILTER) return plain(filter);
  return install(filter, (flags & SECCOMP_FILTER_FLAG_TSYNC) != 0, plain);
}

long set_seccomp(long mode, long filter) {
  const auto plain = [&](long given) { return os::call(__NR_prctl, PR_SET_SECCOMP, mode, given); };
  return mode == SECCOMP_MODE_FILTER ? install(filter, false, plain) : plain(filter);
}

}  // namespace nearfar::tier::preload
