// Which arguments of which system calls are pointers, and to how much, by section 2 of the Linux
// manual pages. A call is listed here if one of its pointers is to more than a page's length, to a
// text, or to other pointers; or if an address that it is given is not one of data, as munmap's; or
// because programs make it often.

#include "tier/preload/call_buffers.h"

#include <linux/aio_abi.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstdint>

namespace nearfar::tier::preload {
namespace {

/// What an argument points to.
enum class To : std::uint8_t {
  nothing,
  some,  ///< so many bytes
  array,  ///< so many bytes for each that another argument counts
  text,  ///< up to a byte of zero
  texts,  ///< pointers to texts, up to a null one
  address,  ///< of a socket; another argument points to its length
  vectors,  ///< iovec, which another argument counts
  message,  ///< msghdr
  messages,  ///< mmsghdr, which another argument counts
  bits,  ///< fd_set for so many descriptors as another argument says
  resident,  ///< what mincore says of the length that another argument is
  blocks,  ///< pointers to iocb, which another argument counts
};

struct Argument {
  To to = To::nothing;
  std::uint8_t position = 0;
  std::uint8_t count = 0;  ///< the argument that says how many
  std::uint16_t bytes = 1;  ///< of one
  std::uint8_t before = 0;  ///< bytes before the first, of `array`
};

struct Call {
  std::int16_t number;
  std::array<Argument, 4> arguments{};
};

constexpr Argument text(std::uint8_t at) { return {To::text, at}; }
constexpr Argument some(std::uint8_t at, std::uint16_t bytes) { return {To::some, at, 0, bytes}; }
constexpr Argument array(std::uint8_t at, std::uint8_t count, std::uint16_t bytes = 1) {
  return {To::array, at, count, bytes};
}
/// A msgbuf: its type, and so many bytes behind that.
constexpr Argument queued(std::uint8_t at, std::uint8_t count) {
  return {To::array, at, count, 1, sizeof(long)};
}
constexpr Argument counted(To to, std::uint8_t at, std::uint8_t count) { return {to, at, count}; }

constexpr std::uint16_t of_stat = 144;
constexpr std::uint16_t of_time = 16;
constexpr std::uint16_t of_event = 12;  // struct epoll_event
constexpr std::uint16_t of_poll = 8;
constexpr std::uint16_t of_length = 4;  // socklen_t
constexpr std::uint16_t of_mask = 8;

constexpr Call calls[] = {
    {__NR_read, {array(1, 2)}},
    {__NR_write, {array(1, 2)}},
    {__NR_pread64, {array(1, 2)}},
    {__NR_pwrite64, {array(1, 2)}},
    {__NR_readv, {counted(To::vectors, 1, 2)}},
    {__NR_writev, {counted(To::vectors, 1, 2)}},
    {__NR_preadv, {counted(To::vectors, 1, 2)}},
    {__NR_pwritev, {counted(To::vectors, 1, 2)}},
    {__NR_preadv2, {counted(To::vectors, 1, 2)}},
    {__NR_pwritev2, {counted(To::vectors, 1, 2)}},
    {__NR_vmsplice, {counted(To::vectors, 1, 2)}},
    {__NR_process_vm_readv, {counted(To::vectors, 1, 2), array(3, 4, sizeof(iovec))}},
    {__NR_process_vm_writev, {counted(To::vectors, 1, 2), array(3, 4, sizeof(iovec))}},
    {__NR_process_madvise, {array(1, 2, sizeof(iovec))}},
    {__NR_sendto, {array(1, 2), array(4, 5)}},
    {__NR_recvfrom, {array(1, 2), counted(To::address, 4, 5)}},
    {__NR_sendmsg, {{To::message, 1}}},
    {__NR_recvmsg, {{To::message, 1}}},
    {__NR_sendmmsg, {counted(To::messages, 1, 2)}},
    {__NR_recvmmsg, {counted(To::messages, 1, 2), some(4, of_time)}},
    {__NR_accept, {counted(To::address, 1, 2)}},
    {__NR_accept4, {counted(To::address, 1, 2)}},
    {__NR_getsockname, {counted(To::address, 1, 2)}},
    {__NR_getpeername, {counted(To::address, 1, 2)}},
    {__NR_getsockopt, {counted(To::address, 3, 4)}},
    {__NR_setsockopt, {array(3, 4)}},
    {__NR_bind, {array(1, 2)}},
    {__NR_connect, {array(1, 2)}},
    {__NR_socketpair, {some(3, 2 * of_length)}},
    {__NR_epoll_wait, {array(1, 2, of_event)}},
    {__NR_epoll_pwait, {array(1, 2, of_event), some(4, of_mask)}},
    {__NR_epoll_pwait2, {array(1, 2, of_event), some(3, of_time), some(4, of_mask)}},
    {__NR_epoll_ctl, {some(3, of_event)}},
    {__NR_poll, {array(0, 1, of_poll)}},
    {__NR_ppoll, {array(0, 1, of_poll), some(2, of_time), some(3, of_mask)}},
    {__NR_select,
     {counted(To::bits, 1, 0), counted(To::bits, 2, 0), counted(To::bits, 3, 0), some(4, of_time)}},
    {__NR_pselect6,
     {counted(To::bits, 1, 0), counted(To::bits, 2, 0), counted(To::bits, 3, 0), some(4, of_time)}},
    {__NR_futex, {some(0, 4), some(3, of_time), some(4, 4)}},
    {__NR_nanosleep, {some(0, of_time), some(1, of_time)}},
    {__NR_clock_nanosleep, {some(2, of_time), some(3, of_time)}},
    {__NR_clock_gettime, {some(1, of_time)}},
    {__NR_gettimeofday, {some(0, of_time), some(1, of_time)}},
    {__NR_stat, {text(0), some(1, of_stat)}},
    {__NR_lstat, {text(0), some(1, of_stat)}},
    {__NR_fstat, {some(1, of_stat)}},
    {__NR_newfstatat, {text(1), some(2, of_stat)}},
    {__NR_statx, {text(1), some(4, 256)}},
    {__NR_statfs, {text(0), some(1, 120)}},
    {__NR_open, {text(0)}},
    {__NR_openat, {text(1)}},
    {__NR_openat2, {text(1), array(2, 3)}},
    {__NR_creat, {text(0)}},
    {__NR_access, {text(0)}},
    {__NR_faccessat, {text(1)}},
    {__NR_faccessat2, {text(1)}},
    {__NR_mkdir, {text(0)}},
    {__NR_mkdirat, {text(1)}},
    {__NR_mknod, {text(0)}},
    {__NR_mknodat, {text(1)}},
    {__NR_rmdir, {text(0)}},
    {__NR_unlink, {text(0)}},
    {__NR_unlinkat, {text(1)}},
    {__NR_rename, {text(0), text(1)}},
    {__NR_renameat, {text(1), text(3)}},
    {__NR_renameat2, {text(1), text(3)}},
    {__NR_link, {text(0), text(1)}},
    {__NR_linkat, {text(1), text(3)}},
    {__NR_symlink, {text(0), text(1)}},
    {__NR_symlinkat, {text(0), text(2)}},
    {__NR_readlink, {text(0), array(1, 2)}},
    {__NR_readlinkat, {text(1), array(2, 3)}},
    {__NR_chdir, {text(0)}},
    {__NR_chroot, {text(0)}},
    {__NR_chmod, {text(0)}},
    {__NR_fchmodat, {text(1)}},
    {__NR_chown, {text(0)}},
    {__NR_lchown, {text(0)}},
    {__NR_fchownat, {text(1)}},
    {__NR_truncate, {text(0)}},
    {__NR_utime, {text(0), some(1, of_time)}},
    {__NR_utimes, {text(0), some(1, 2 * of_time)}},
    {__NR_futimesat, {text(1), some(2, 2 * of_time)}},
    {__NR_utimensat, {text(1), some(2, 2 * of_time)}},
    {__NR_mount, {text(0), text(1), text(2), some(4, os::page_bytes)}},
    {__NR_umount2, {text(0)}},
    {__NR_memfd_create, {text(0)}},
    {__NR_getcwd, {array(0, 1)}},
    {__NR_getdents, {array(1, 2)}},
    {__NR_getdents64, {array(1, 2)}},
    {__NR_getrandom, {array(0, 1)}},
    {__NR_getgroups, {array(1, 0, 4)}},
    {__NR_setgroups, {array(1, 0, 4)}},
    {__NR_sched_getaffinity, {array(2, 1)}},
    {__NR_sched_setaffinity, {array(2, 1)}},
    {__NR_setxattr, {text(0), text(1), array(2, 3)}},
    {__NR_lsetxattr, {text(0), text(1), array(2, 3)}},
    {__NR_fsetxattr, {text(1), array(2, 3)}},
    {__NR_getxattr, {text(0), text(1), array(2, 3)}},
    {__NR_lgetxattr, {text(0), text(1), array(2, 3)}},
    {__NR_fgetxattr, {text(1), array(2, 3)}},
    {__NR_listxattr, {text(0), array(1, 2)}},
    {__NR_llistxattr, {text(0), array(1, 2)}},
    {__NR_flistxattr, {array(1, 2)}},
    {__NR_removexattr, {text(0), text(1)}},
    {__NR_lremovexattr, {text(0), text(1)}},
    {__NR_fremovexattr, {text(1)}},
    {__NR_execve, {text(0), {To::texts, 1}, {To::texts, 2}}},
    {__NR_execveat, {text(1), {To::texts, 2}, {To::texts, 3}}},
    {__NR_msgsnd, {some(1, 8), queued(1, 2)}},
    {__NR_msgrcv, {some(1, 8), queued(1, 2)}},
    {__NR_semop, {array(1, 2, 6)}},
    {__NR_semtimedop, {array(1, 2, 6), some(3, of_time)}},
    {__NR_mq_open, {text(0), some(3, 64)}},
    {__NR_mq_timedsend, {array(1, 2), some(4, of_time)}},
    {__NR_mq_timedreceive, {array(1, 2), some(3, 4), some(4, of_time)}},
    {__NR_io_submit, {counted(To::blocks, 2, 1)}},
    {__NR_io_getevents, {array(3, 2, 32), some(4, of_time)}},
    {__NR_copy_file_range, {some(1, 8), some(3, 8)}},
    {__NR_sendfile, {some(2, 8)}},
    {__NR_sigaltstack, {some(0, 24), some(1, 24)}},
    {__NR_inotify_add_watch, {text(1)}},
    {__NR_mincore, {counted(To::resident, 2, 1)}},
    {__NR_move_pages, {array(2, 1, 8), array(3, 1, 4), array(4, 1, 4)}},
    {__NR_mbind, {some(3, os::page_bytes)}},
    {__NR_mlock, {array(0, 1)}},
    {__NR_mlock2, {array(0, 1)}},
    // Addresses that are not of data.
    {__NR_mmap},
    {__NR_munmap},
    {__NR_mremap},
    {__NR_mprotect},
    {__NR_madvise},
    {__NR_msync},
    {__NR_munlock},
    {__NR_brk},
    {__NR_remap_file_pages},
    {__NR_pkey_mprotect},
    {__NR_shmat},
    {__NR_shmdt},
    {__NR_set_tid_address},
    {__NR_set_robust_list},
    {__NR_rseq},
    {__NR_userfaultfd},
    {__NR_membarrier},
};

/// By number, its position in the list and one; 0: not listed.
struct Index {
  static constexpr std::size_t numbers = 512;
  std::array<std::uint8_t, numbers> of{};

  constexpr Index() {
    std::uint8_t position = 0;
    for (const Call& call : calls) of[static_cast<std::size_t>(call.number)] = ++position;
  }
};
constexpr Index listed;
static_assert(std::size(calls) < 255);

os::Place place_of(long word) { return static_cast<os::Place>(word); }

/// Adds up what one call is given.
class Search {
 public:
  Search(const Words& words, BufferSink& sink) : words_(words), sink_(sink) {}

  void add(const Argument& argument);

 private:
  [[nodiscard]] std::size_t count(const Argument& argument) const {
    return static_cast<std::size_t>(words_[argument.count]);
  }
  /// An object of the program's; null if it may not be read.
  template <typename T>
  const T* read(os::Place at, std::size_t items = 1) {
    if (at == 0 || items > most_items || !sink_.make_readable(at, items * sizeof(T)))
      return nullptr;
    sink_.add(at, items * sizeof(T));
    return os::pointer<const T>(at);
  }
  void add_text(os::Place at);
  void add_texts(os::Place at);
  void add_address(os::Place at, os::Place length);
  void add_vectors(os::Place at, std::size_t count);
  void add_message(const msghdr& message);
  void add_messages(os::Place at, std::size_t count);
  void add_blocks(os::Place at, std::size_t count);

  static constexpr std::size_t most_items = 4096;

  const Words& words_;
  BufferSink& sink_;
};

/// Page by page, as far as it reaches.
void Search::add_text(os::Place at) {
  if (!sink_.may_be_far(at)) return;
  constexpr std::size_t longest = std::size_t{32} * os::page_bytes;  // MAX_ARG_STRLEN
  const os::Place begin = at;
  while (at - begin < longest) {
    const os::Place next = (at / os::page_bytes + 1) * os::page_bytes;
    if (!sink_.make_readable(at, 1)) return;
    sink_.add(at, 1);
    for (; at < next; ++at)
      if (*os::pointer<const char>(at) == '\0') return;
  }
}

void Search::add_texts(os::Place at) {
  for (; const os::Place* const one = read<os::Place>(at); at += sizeof *one) {
    if (*one == 0) return;
    add_text(*one);
  }
}

void Search::add_address(os::Place at, os::Place length) {
  const auto* const bytes = read<std::uint32_t>(length);
  if (bytes != nullptr) sink_.add(at, *bytes);
}

void Search::add_vectors(os::Place at, std::size_t count) {
  const auto* const vectors = read<iovec>(at, count);
  for (std::size_t i = 0; vectors != nullptr && i < count; ++i)
    sink_.add(os::place(vectors[i].iov_base), vectors[i].iov_len);
}

void Search::add_message(const msghdr& message) {
  sink_.add(os::place(message.msg_name), message.msg_namelen);
  sink_.add(os::place(message.msg_control), message.msg_controllen);
  add_vectors(os::place(message.msg_iov), message.msg_iovlen);
}

void Search::add_messages(os::Place at, std::size_t count) {
  const auto* const messages = read<mmsghdr>(at, count);
  for (std::size_t i = 0; messages != nullptr && i < count; ++i) add_message(messages[i].msg_hdr);
}

void Search::add_blocks(os::Place at, std::size_t count) {
  const auto* const blocks = read<os::Place>(at, count);
  for (std::size_t i = 0; blocks != nullptr && i < count; ++i) {
    const auto* const block = read<iocb>(blocks[i]);
    if (block == nullptr) continue;
    const std::uint16_t operation = block->aio_lio_opcode;
    if (operation == IOCB_CMD_PREADV || operation == IOCB_CMD_PWRITEV) {
      add_vectors(block->aio_buf, block->aio_nbytes);
    } else {
      sink_.add(block->aio_buf, block->aio_nbytes);
    }
  }
}

void Search::add(const Argument& argument) {
  const os::Place at = place_of(words_[argument.position]);
  switch (argument.to) {
    case To::nothing:
      return;
    case To::some:
      return sink_.add(at, argument.bytes);
    case To::array:
      if (words_[argument.count] > 0)
        sink_.add(at, argument.before + count(argument) * argument.bytes);
      return;
    case To::text:
      return add_text(at);
    case To::texts:
      return add_texts(at);
    case To::address:
      return add_address(at, place_of(words_[argument.count]));
    case To::vectors:
      return add_vectors(at, count(argument));
    case To::message:
      if (const auto* const message = read<msghdr>(at)) add_message(*message);
      return;
    case To::messages:
      return add_messages(at, count(argument));
    case To::bits:
      return sink_.add(at, (count(argument) + 63) / 64 * sizeof(std::uint64_t));
    case To::resident:
      return sink_.add(at, (count(argument) + os::page_bytes - 1) / os::page_bytes);
    case To::blocks:
      return add_blocks(at, count(argument));
  }
}

}  // namespace

void find_buffers(long number, const Words& words, BufferSink& sink) {
  Search search(words, sink);
  const bool known = number >= 0 && number < static_cast<long>(Index::numbers);
  const std::size_t position = known ? listed.of[static_cast<std::size_t>(number)] : 0;
  if (position != 0) {
    for (const Argument& argument : calls[position - 1].arguments) search.add(argument);
    return;
  }
  for (const long word : words)
    if (sink.may_be_far(place_of(word))) sink.add(place_of(word), os::page_bytes);
  if (number == __NR_ioctl)
    sink.add(place_of(words[2]), _IOC_SIZE(static_cast<unsigned long>(words[1])));
}

}  // namespace nearfar::tier::preload
