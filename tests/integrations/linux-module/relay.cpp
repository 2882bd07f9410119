// Carries calls of the module over a serial line, so that a program outside of the virtual machine
// can make them: relay PATH. A call is a Call, its structure and the bytes that are sent along; the
// answer is the result or the negative error, the structure, and the timings that were made. Before
// the first a byte says that the line is ready.
#include <termios.h>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

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

// Whether there will be more.
bool carry(const Line& line) {
  Call call{};
  line.read_all(&call, sizeof call);
  std::vector<char> structure(call.bytes);
  std::vector<char> sent(call.sent_bytes);
  Chunks timings(call.timings);
  line.read_all(structure.data(), structure.size());
  line.read_all(sent.data(), sent.size());
  put_address(structure, call.sent_at, sent.data());
  nearfar_run run{};
  if (call.timings != 0) {
    put_address(structure, offsetof(nearfar_run, chunks), timings.data());
  }
  const std::int64_t answer = call.command == last ? 0 : make(call, structure.data());
  if (call.timings != 0 && answer == 0) std::memcpy(&run, structure.data(), sizeof run);
  line.write_all(&answer, sizeof answer);
  line.write_all(structure.data(), structure.size());
  line.write_all(timings.data(), run.made * sizeof timings[0]);
  return call.command != last;
}

}  // namespace

int main(int, char** words) {
  const Line line(words[1]);
  line.write_all("!", 1);
  while (carry(line)) {
  }
}
