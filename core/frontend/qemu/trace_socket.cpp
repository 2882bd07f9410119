#include "frontend/qemu/trace_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace nearfar::frontend::qemu {
namespace {

/// A connected socket, as long as this lives.
class Connection {
 public:
  explicit Connection(const std::string& path)
      : descriptor_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (descriptor_ < 0) fail();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    while (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
           0) {
      if (errno != EINTR) fail();
    }
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { ::close(descriptor_); }

  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) fail();
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  void await_answer() const {
    ::shutdown(descriptor_, SHUT_WR);
    char answer = 0;
    ssize_t got = 0;
    do {
      got = ::recv(descriptor_, &answer, 1, 0);
    } while (got < 0 && errno == EINTR);
    if (got != 1) fail();
  }

 private:
  [[noreturn]] static void fail() { throw std::runtime_error("no process stores the trace"); }

  int descriptor_;
};

}  // namespace

void TraceSocket::send(std::string_view piece, std::uint64_t records) const {
  const std::array<std::uint64_t, 3> about = {static_cast<std::uint64_t>(getpid()), number_,
                                              records};
  std::array<char, sizeof about> head{};
  std::memcpy(head.data(), about.data(), sizeof about);
  const Connection connection(path_);
  connection.write({head.data(), head.size()});
  connection.write(piece);
  connection.await_answer();
}

}  // namespace nearfar::frontend::qemu
