// Carries calls of the module over a serial line, so that a program outside of the virtual machine
// can make them: relay PATH. A call is a Call, its structure and the bytes that are sent along; the
// answer is the call's number, the result or the negative error, the structure, and the timings
// that were made. Calls wait for one another no more than those of threads do. Before the first
// answer a byte says that the line is ready.
#include <termios.h>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "guest.h"

namespace {

using namespace guest;

class Line {
 public:
  explicit Line(const char* path) : fd_(open(path, O_RDWR | O_NOCTTY)) {
    termios settings{};
    tcgetattr(fd_, &settings);
    cfmakeraw(&settings);
    tcsetattr(fd_, TCSANOW, &settings);
  }
  void read_all(void* into, std::size_t bytes) const {
    for (std::size_t at = 0; at < bytes;) {
      const ssize_t got = read(fd_, static_cast<char*>(into) + at, bytes - at);
      if (got <= 0) std::exit(0);
      at += static_cast<std::size_t>(got);
    }
  }
  void write_all(const void* from, std::size_t bytes) const {
    for (std::size_t at = 0; at < bytes;) {
      const ssize_t put = write(fd_, static_cast<const char*>(from) + at, bytes - at);
      if (put <= 0) std::exit(0);
      at += static_cast<std::size_t>(put);
    }
  }

 private:
  int fd_;
};

constexpr std::uint64_t none = ~std::uint64_t{0};
constexpr std::uint64_t last = none - 1;

struct Call {
  std::uint64_t number;
  std::uint64_t command;  // 0: close the descriptor
  std::uint64_t descriptor;  // none: open the device
  std::uint64_t bytes;  // of the structure
  std::uint64_t sent_at;  // where in it the address of the sent bytes belongs, or none
  std::uint64_t sent_bytes;
  std::uint64_t timings;  // for how many there is to be room; 0: it has none
  std::uint64_t dax_at;  // where a descriptor of the DAX device belongs, or none
};

void put_address(std::vector<char>& structure, std::uint64_t at, const void* address) {
  if (at <= structure.size() && sizeof address <= structure.size() - at) {
    std::memcpy(structure.data() + at, &address, sizeof address);
  }
}

std::int64_t make(const Call& call, char* structure) {
  if (call.command == 0) return close(static_cast<int>(call.descriptor)) == 0 ? 0 : -errno;
  if (call.descriptor == none) {
    const int fd = open(device, O_RDWR);
    return fd >= 0 ? fd : -errno;
  }
  int dax_fd = -1;
  if (call.dax_at != none) {
    dax_fd = open(dax_device, O_RDWR);
    std::memcpy(structure + call.dax_at, &dax_fd, sizeof dax_fd);
  }
  const int result = ioctl(static_cast<int>(call.descriptor), call.command, structure);
  const int error = errno;
  if (dax_fd >= 0) close(dax_fd);
  return result >= 0 ? result : -error;
}

// A call with what belongs to it; makes it and answers.
class Carried {
 public:
  Carried(const Line& line, const Call& call)
      : call_(call), structure_(call.bytes), sent_(call.sent_bytes), timings_(call.timings) {
    line.read_all(structure_.data(), structure_.size());
    line.read_all(sent_.data(), sent_.size());
  }

  void carry_out(const Line& line, std::mutex& guards_line) {
    put_address(structure_, call_.sent_at, sent_.data());
    nearfar_run run{};
    if (call_.timings != 0) {
      put_address(structure_, offsetof(nearfar_run, chunks), timings_.data());
    }
    const std::int64_t answer = call_.command == last ? 0 : make(call_, structure_.data());
    if (call_.timings != 0 && answer == 0) std::memcpy(&run, structure_.data(), sizeof run);
    const std::lock_guard<std::mutex> lock(guards_line);
    line.write_all(&call_.number, sizeof call_.number);
    line.write_all(&answer, sizeof answer);
    line.write_all(structure_.data(), structure_.size());
    line.write_all(timings_.data(), run.made * sizeof timings_[0]);
  }

 private:
  Call call_;
  std::vector<char> structure_;
  std::vector<char> sent_;
  Chunks timings_;
};

}  // namespace

int main(int, char** words) {
  const Line line(words[1]);
  std::mutex guards_line;
  line.write_all("!", 1);
  std::atomic<std::uint64_t> busy = 0;
  Call call{};
  while (call.command != last) {
    line.read_all(&call, sizeof call);
    ++busy;
    std::thread([&line, &guards_line, &busy, carried = Carried(line, call)]() mutable {
      carried.carry_out(line, guards_line);
      --busy;
      busy.notify_all();
    }).detach();
  }
  while (const std::uint64_t left = busy) busy.wait(left);
}
