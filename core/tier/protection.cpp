#include "tier/protection.h"

#include <fcntl.h>

namespace nearfar::tier {
namespace {

/// A line of /proc/self/maps, read letter by letter: 7f0000000000-7f0000001000 rw-p ...
class Line {
 public:
  /// False at its end.
  bool read(char letter) {
    if (letter == '\n') return false;
    if (letter == ' ' || letter == '-') {
      if (part_ != Part::protection || letter == ' ') part_ = next();
      return true;
    }
    if (part_ == Part::begin) begin_ = begin_ * 16 + digit(letter);
    if (part_ == Part::end) end_ = end_ * 16 + digit(letter);
    if (part_ == Part::protection) protection_ |= allowed(letter);
    return true;
  }
  [[nodiscard]] bool holds(os::Place at) const { return begin_ <= at && at < end_; }
  [[nodiscard]] int protection() const { return protection_; }

 private:
  enum class Part : std::uint8_t { begin, end, protection, rest };

  [[nodiscard]] Part next() const {
    return part_ == Part::begin ? Part::end : part_ == Part::end ? Part::protection : Part::rest;
  }
  static os::Place digit(char letter) {
    return static_cast<os::Place>(letter <= '9' ? letter - '0' : letter - 'a' + 10);
  }
  static int allowed(char letter) {
    return letter == 'r' ? PROT_READ : letter == 'w' ? PROT_WRITE : letter == 'x' ? PROT_EXEC : 0;
  }

  Part part_ = Part::begin;
  os::Place begin_ = 0;
  os::Place end_ = 0;
  int protection_ = 0;
};

}  // namespace

int protection_of(os::Place at) noexcept {
  const long file =
      os::call(__NR_openat, AT_FDCWD, os::word("/proc/self/maps"), O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  int found = -1;
  Line line;
  char chunk[4096];
  for (long got = 1; got > 0 && found < 0;) {
    got = os::call(__NR_read, file, os::word(chunk), sizeof chunk);
    for (long i = 0; i < got && found < 0; ++i) {
      if (line.read(chunk[i])) continue;
      if (line.holds(at)) found = line.protection();
      line = {};
    }
  }
  os::call(__NR_close, file);
  return found;
}

}  // namespace nearfar::tier
