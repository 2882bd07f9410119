#include "tier/preload/repeatable_calls.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>

#include "tier/os/system.h"

namespace nearfar::tier::preload {
namespace {

/// What a descriptor is of (S_IFREG...); 0 if it is of nothing that has a name.
unsigned kind_of(long descriptor) {
  struct stat found{};
  if (os::call(__NR_fstat, descriptor, os::word(&found)) != 0) return 0;
  return found.st_mode & S_IFMT;
}

/// An option of a socket that is a number; -1 if it has none.
int option_of(long socket, int level, int option) {
  int value = 0;
  socklen_t length = sizeof value;
  const long error =
      os::call(__NR_getsockopt, socket, level, option, os::word(&value), os::word(&length));
  return error == 0 && length == sizeof value ? value : -1;
}

/// Whether a protocol above TCP (TLS) has the socket's bytes. Its name, as it has none itself, is
/// of no length.
bool has_protocol_above(long socket) {
  std::array<char, 16> name{};
  socklen_t length = name.size();
  return os::call(__NR_getsockopt, socket, IPPROTO_TCP, TCP_ULP, os::word(name.data()),
                  os::word(&length)) != 0 ||
         length != 0;
}

/// Whether a socket is of bytes that keep no borders, and of a protocol that keeps them until they
/// have arrived: SCTP and the like do not.
bool is_stream(long socket) {
  if (option_of(socket, SOL_SOCKET, SO_TYPE) != SOCK_STREAM) return false;
  const int domain = option_of(socket, SOL_SOCKET, SO_DOMAIN);
  if (domain == AF_UNIX) return true;
  return (domain == AF_INET || domain == AF_INET6) &&
         option_of(socket, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP && !has_protocol_above(socket);
}

}  // namespace

bool is_file(long descriptor) { return kind_of(descriptor) == S_IFREG; }

bool appends(long descriptor) {
  const long flags = os::call(__NR_fcntl, descriptor, F_GETFL);
  return flags >= 0 && (flags & O_APPEND) != 0;
}

bool is_byte_stream(long descriptor) {
  const unsigned kind = kind_of(descriptor);
  return kind == S_IFIFO || (kind == S_IFSOCK && is_stream(descriptor));
}

bool fails_first(long number, const Words& words) {
  if (number != __NR_futex) return number == __NR_execve || number == __NR_execveat;
  switch (words[1] & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
      return true;
    default:
      return false;
  }
}

/// Of a datagram, a terminal's line, a counter of events or a child's status nothing is left; the
/// sender's address is written after the bytes are taken; and to wait again would take longer.
bool may_be_repeated(long number, const Words& words) {
  constexpr long harmless = MSG_DONTWAIT | MSG_NOSIGNAL;
  switch (number) {
    case __NR_epoll_wait:
    case __NR_epoll_pwait:
      return static_cast<int>(words[3]) <= 0;
    case __NR_epoll_pwait2:
      return words[3] == 0;
    case __NR_recvfrom:
      return words[4] == 0 && (words[3] & ~harmless) == 0 && is_stream(words[0]);
    case __NR_read:
    case __NR_readv:
      return is_byte_stream(words[0]);
    default:
      return false;
  }
}

}  // namespace nearfar::tier::preload
