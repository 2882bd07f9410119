#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nearfar::frontend::qemu {

/// Brings pieces of a trace to `nearfar trace record`, which listens on a socket of this name.
///
/// Each piece has a connection of its own, which lives no longer than the call: the guest's
/// descriptors are QEMU's, and a guest may close any that it finds, or fork with it.
/// A message is the process's id, the number of its program, the number of records up to the
/// piece's end (8 bytes each, as the machine has them), and the piece; the answer is one byte, and
/// comes when the piece has been stored.
class TraceSocket {
 public:
  TraceSocket(std::string path, std::uint64_t number) : path_(std::move(path)), number_(number) {}

  /// Throws std::runtime_error when the launcher does not store it.
  void send(std::string_view piece, std::uint64_t records) const;

 private:
  std::string path_;
  std::uint64_t number_;
};

}  // namespace nearfar::frontend::qemu
