#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/qemu/shared_table.h"

namespace nearfar::frontend::qemu {

/// Under which keys a file that carries bytes from one process to another is known to both of
/// them: a pipe by its inode, a connection by the addresses of its two ends, a pair of sockets by
/// the inode of the end that reads, datagrams by where they go.
class Channels {
 public:
  /// An address, so that all processes that mean one socket have the same bytes.
  using Name = std::vector<std::uint8_t>;

  explicit Channels(SharedTable& table) : table_(table) {}

  /// Where what is written to the file goes, or where what is read from it comes from; nothing if
  /// it is no such file. `to` is where a datagram is sent that has an address of its own.
  [[nodiscard]] std::optional<Key> out(int file, const Name& to = {});
  [[nodiscard]] std::optional<Key> in(int file);

  /// Two sockets that socketpair() has made.
  void paired(int one, int other);

  /// Of a socket that waits for connections, or one that wants to connect to `to`.
  [[nodiscard]] static std::optional<Key> listening(int file);
  [[nodiscard]] static std::optional<Key> listening(const Name& to);
  [[nodiscard]] static std::optional<Key> asking(int file);
  [[nodiscard]] static std::optional<Key> asking(const Name& to);

  /// Internet addresses are told apart by port alone where a socket is not connected: it may be
  /// bound to any of this machine's.
  enum class Detail : std::uint8_t { all, port };
  /// Empty for an address without a name, and for families that no processes talk through.
  [[nodiscard]] static Name name(const sockaddr_storage& address, std::size_t bytes, Detail detail);

 private:
  struct Ends {
    std::optional<Key> in;
    std::optional<Key> out;
  };
  [[nodiscard]] Ends ends(int file, const Name& to);
  [[nodiscard]] Ends known(std::uint64_t inode) const;
  void keep(std::uint64_t inode, const Ends& ends);

  SharedTable& table_;
};

}  // namespace nearfar::frontend::qemu
