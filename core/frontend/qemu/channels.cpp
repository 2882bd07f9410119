#include "frontend/qemu/channels.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace nearfar::frontend::qemu {
namespace {

using Name = Channels::Name;
using Detail = Channels::Detail;

// Kinds of keys.
constexpr char in_of_socket = 'i';
constexpr char out_of_socket = 'o';
constexpr char pipe_kind = 'p';
constexpr char pair_kind = 's';
constexpr char connection_kind = 'c';
constexpr char datagram_kind = 'd';
constexpr char listening_kind = 'l';
constexpr char asking_kind = 'a';

template <typename T>
void append(Name& to, const T& value) {
  std::array<std::uint8_t, sizeof value> bytes;
  std::memcpy(bytes.data(), &value, sizeof value);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

template <typename Address>
Address as(const sockaddr_storage& address) {
  Address out{};
  std::memcpy(&out, &address, sizeof out);
  return out;
}

/// Nothing where there is no such address; an empty name where it has none.
template <typename Ask>
std::optional<Name> asked(const Ask& ask, int file, Detail detail) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof address;
  if (ask(file, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return std::nullopt;
  return Channels::name(address, bytes, detail);
}

std::optional<Name> own_name(int file, Detail detail) { return asked(getsockname, file, detail); }
std::optional<Name> peer_name(int file, Detail detail) { return asked(getpeername, file, detail); }

int type_of(int file) {
  int type = 0;
  socklen_t bytes = sizeof type;
  return getsockopt(file, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 ? type : 0;
}

std::optional<Key> named(char kind, const std::optional<Name>& name) {
  if (!name || name->empty()) return std::nullopt;
  return Key(kind).add(*name);
}

Key connection(const Name& from, const Name& to) {
  // The length keeps two names apart.
  return Key(connection_kind, from.size()).add(from).add(to);
}

std::optional<std::uint64_t> socket_inode(int file) {
  struct stat status{};
  if (fstat(file, &status) != 0 || !S_ISSOCK(status.st_mode)) return std::nullopt;
  return status.st_ino;
}

}  // namespace

Name Channels::name(const sockaddr_storage& address, std::size_t bytes, Detail detail) {
  Name out;
  switch (address.ss_family) {
    case AF_INET: {
      const auto inet = as<sockaddr_in>(address);
      if (inet.sin_port == 0) return {};
      append(out, inet.sin_port);
      if (detail == Detail::all) append(out, inet.sin_addr);
      return out;
    }
    case AF_INET6: {
      const auto inet = as<sockaddr_in6>(address);
      if (inet.sin6_port == 0) return {};
      append(out, inet.sin6_port);
      if (detail == Detail::port) return out;
      append(out, inet.sin6_addr);
      // What reaches a socket of both versions by the older one: the other end has but that.
      if (IN6_IS_ADDR_V4MAPPED(&inet.sin6_addr)) out.erase(out.begin() + 2, out.begin() + 14);
      return out;
    }
    case AF_UNIX: {
      const auto local = as<sockaddr_un>(address);
      const std::size_t longest = std::min(bytes, sizeof local);
      const std::size_t head = offsetof(sockaddr_un, sun_path);
      if (longest <= head) return {};
      const char* const path = static_cast<const char*>(local.sun_path);
      // A path ends with a zero or with the address; an abstract name begins with a zero.
      std::size_t length = longest - head;
      if (path[0] != '\0') length = strnlen(path, length);
      out.push_back(AF_UNIX);
      out.insert(out.end(), path, path + length);
      return out;
    }
    default:
      return {};
  }
}

std::optional<Key> Channels::listening(int file) {
  return named(listening_kind, own_name(file, Detail::port));
}
std::optional<Key> Channels::listening(const Name& to) { return named(listening_kind, to); }
std::optional<Key> Channels::asking(int file) {
  return named(asking_kind, own_name(file, Detail::port));
}
std::optional<Key> Channels::asking(const Name& to) { return named(asking_kind, to); }

std::optional<Key> Channels::out(int file, const Name& to) { return ends(file, to).out; }
std::optional<Key> Channels::in(int file) { return ends(file, {}).in; }

Channels::Ends Channels::ends(int file, const Name& to) {
  struct stat status{};
  if (fstat(file, &status) != 0) return {};
  if (S_ISFIFO(status.st_mode)) {
    const Key pipe = Key(pipe_kind, status.st_dev).add(status.st_ino);
    const bool reads_only = (fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY;
    return {.in = pipe, .out = reads_only ? std::nullopt : std::optional(pipe)};
  }
  if (!S_ISSOCK(status.st_mode)) return {};
  // What a connection is between is asked but once: at its end its addresses are gone before the
  // last of what came through it has been read.
  Ends found = known(status.st_ino);
  if (found.in) return found;
  const int type = type_of(file);
  if (type == SOCK_DGRAM) {
    return {.in = named(datagram_kind, own_name(file, Detail::port)),
            .out = named(datagram_kind,
                         to.empty() ? peer_name(file, Detail::port) : std::optional(to))};
  }
  if (type != SOCK_STREAM && type != SOCK_SEQPACKET) return {};
  // One that is not connected has no peer. Of a Unix socket's ends one has no name, which is an
  // address, too; both of a pair have none, and of one whose making was not seen that is all.
  const auto own = own_name(file, Detail::all);
  const auto peer = peer_name(file, Detail::all);
  if (!own || !peer || (own->empty() && peer->empty())) return {};
  found = {.in = connection(*peer, *own), .out = connection(*own, *peer)};
  keep(status.st_ino, found);
  return found;
}

Channels::Ends Channels::known(std::uint64_t inode) const {
  const std::uint64_t in = table_.get(Key(in_of_socket, inode));
  const std::uint64_t out = table_.get(Key(out_of_socket, inode));
  if (in == 0 || out == 0) return {};
  return {.in = Key::kept(in), .out = Key::kept(out)};
}

void Channels::keep(std::uint64_t inode, const Ends& ends) {
  table_.set(Key(in_of_socket, inode), ends.in->number());
  table_.set(Key(out_of_socket, inode), ends.out->number());
}

void Channels::paired(int one, int other) {
  const auto first = socket_inode(one);
  const auto second = socket_inode(other);
  if (!first || !second) return;
  const Key to_first(pair_kind, *first);
  const Key to_second(pair_kind, *second);
  keep(*first, {.in = to_first, .out = to_second});
  keep(*second, {.in = to_second, .out = to_first});
}

}  // namespace nearfar::frontend::qemu
