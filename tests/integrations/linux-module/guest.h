// What the programs that test the module in a virtual machine have in common.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "nearfar_ioctl.h"

namespace guest {

constexpr const char* device = "/dev/nearfar";
constexpr std::uint64_t mib = std::uint64_t{1} << 20;

// Where the test's kernel has reserved memory: memmap=32M$0x30000000.
constexpr std::uint64_t reserved_at = 0x30000000;
constexpr std::uint64_t reserved_bytes = 32 * mib;
constexpr const char* dax_device = "/dev/dax0.0";

// 0 or the error number.
template <typename Asked>
int ask(int fd, unsigned long command, Asked& asked) {
  return ioctl(fd, command, &asked) == 0 ? 0 : errno;
}

inline nearfar_memory allocation(std::uint64_t bytes) {
  return {.protocol = NEARFAR_PROTOCOL, .kind = NEARFAR_ALLOCATE, .node = -1, .bytes = bytes};
}

inline nearfar_memory range(std::uint64_t physical, std::uint64_t bytes) {
  return {.protocol = NEARFAR_PROTOCOL,
          .kind = NEARFAR_RANGE,
          .node = -1,
          .physical = physical,
          .bytes = bytes};
}

inline nearfar_memory dax(int fd, std::uint64_t bytes) {
  return {.protocol = NEARFAR_PROTOCOL, .kind = NEARFAR_DAX, .node = -1, .fd = fd, .bytes = bytes};
}

// Where timings go.
using Chunks = std::vector<nearfar_chunk>;

inline nearfar_run run_into(Chunks& chunks) {
  return {.protocol = NEARFAR_PROTOCOL,
          .members = 1,
          .chunks = reinterpret_cast<std::uint64_t>(chunks.data()),
          .room = chunks.size()};
}

inline nearfar_chase chase(Chunks& chunks, std::uint64_t region, std::uint32_t op,
                           std::uint64_t lines) {
  return {.run = run_into(chunks),
          .region = region,
          .block = 64,
          .stride = 64,
          .lines = lines,
          .seed = 1,
          .op = op,
          .fence = NEARFAR_MFENCE,
          .fence_place = NEARFAR_FENCE_REGION};
}

inline nearfar_stream stream(Chunks& chunks, std::uint64_t area, std::uint32_t op,
                             std::uint64_t lines) {
  return {.run = run_into(chunks),
          .access = 256,
          .stride = 256,
          .area = area,
          .lines = lines,
          .seed = 1,
          .op = op,
          .fence = NEARFAR_SFENCE};
}

}  // namespace guest
