#pragma once

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace nearfar::frontend::qemu {

// The guest's memory, which QEMU maps at the same addresses. The guest may pass any address to a
// system call: what cannot be read or written is an answer here, and no fault.

inline void* guest_pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

template <typename T>
[[nodiscard]] std::optional<T> read_guest(std::uint64_t address) {
  T value{};
  const iovec to{&value, sizeof value};
  const iovec from{guest_pointer(address), sizeof value};
  if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != sizeof value) return std::nullopt;
  return value;
}

/// Bytes; false if not all of them can be read.
inline bool copy_guest(std::uint64_t address, void* to, std::size_t bytes) {
  const iovec into{to, bytes};
  const iovec from{guest_pointer(address), bytes};
  return process_vm_readv(getpid(), &into, 1, &from, 1, 0) == static_cast<ssize_t>(bytes);
}

template <typename T>
bool write_guest(std::uint64_t address, T value) {
  const iovec from{&value, sizeof value};
  const iovec to{guest_pointer(address), sizeof value};
  return process_vm_writev(getpid(), &from, 1, &to, 1, 0) == sizeof value;
}

/// Where the kernel has just written something: there it can be written.
template <typename T>
void overwrite_guest(std::uint64_t address, const T& value) {
  std::memcpy(guest_pointer(address), &value, sizeof value);
}

/// A string that ends with a zero.
[[nodiscard]] inline std::optional<std::string> read_text(std::uint64_t address) {
  constexpr std::uint64_t page = 4096;
  constexpr std::size_t longest = 1 << 21;  // what Linux allows an argument, and some more
  std::string text;
  std::array<char, page> piece;
  while (text.size() < longest) {
    // Not across a page's end: the next page may be unmapped.
    const std::size_t size = page - address % page;
    const iovec to{piece.data(), size};
    const iovec from{guest_pointer(address), size};
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != static_cast<ssize_t>(size)) break;
    for (std::size_t i = 0; i < size; ++i) {
      if (piece[i] == '\0') return text;
      text += piece[i];
    }
    address += size;
  }
  return std::nullopt;
}

/// An array of strings that ends with a null pointer, as execve takes it; a null array is empty.
[[nodiscard]] inline std::optional<std::vector<std::string>> read_texts(std::uint64_t address) {
  std::vector<std::string> texts;
  for (; address != 0; address += sizeof(std::uint64_t)) {
    const auto pointer = read_guest<std::uint64_t>(address);
    if (!pointer) return std::nullopt;
    if (*pointer == 0) break;
    auto text = read_text(*pointer);
    if (!text) return std::nullopt;
    texts.push_back(std::move(*text));
  }
  return texts;
}

}  // namespace nearfar::frontend::qemu
