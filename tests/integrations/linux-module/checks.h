// What the checks of the module say, and a client of it.
#pragma once

#include <cerrno>

#include "guest.h"

namespace guest {

inline int failures = 0;

inline void report(const std::string& name, const std::string& wrong) {
  if (wrong.empty()) {
    std::printf("ok %s\n", name.c_str());
  } else {
    std::printf("FAILED %s: %s\n", name.c_str(), wrong.c_str());
    ++failures;
  }
}

inline void expect(const std::string& name, int found, int expected) {
  report(name, found == expected ? ""
                                 : std::string("found ") + std::strerror(found) + ", expected " +
                                       std::strerror(expected));
}

// An open device with memory.
class Client {
 public:
  explicit Client(std::uint64_t bytes = 0) : fd_(open(device, O_RDWR | O_CLOEXEC)) {
    if (bytes == 0) return;
    nearfar_memory memory = allocation(bytes);
    expect("an open file gets " + std::to_string(bytes >> 10) + " KiB",
           ask(fd_, NEARFAR_IOC_MEMORY, memory), 0);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { close(fd_); }

  [[nodiscard]] int fd() const { return fd_; }
  int take(nearfar_memory memory) const { return ask(fd_, NEARFAR_IOC_MEMORY, memory); }

 private:
  int fd_;
};

inline std::uint64_t lines_of(const Chunks& chunks, const nearfar_run& run) {
  std::uint64_t lines = 0;
  for (std::uint64_t i = 0; i < run.made; ++i) lines += chunks[i].lines;
  return lines;
}

// A reader beside others (contention.cpp).
void check_contention();

}  // namespace guest
