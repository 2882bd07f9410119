#include "tier/preload/protection.h"

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

void Protections::open() noexcept {
  const long file =
      os::call(__NR_openat, AT_FDCWD, os::word("/proc/self/maps"), O_RDONLY | O_CLOEXEC);
  maps_ = file < 0 ? -1 : os::hide(static_cast<int>(file));
}

void Protections::reopen_in_child() noexcept {
  if (maps_ >= 0) os::call(__NR_close, maps_);
  open();
}

int Protections::of(os::Place at) const noexcept {
  if (maps_ < 0) return -1;
  Line line;
  char chunk[4096] = {};
  for (long offset = 0;;) {
    const long got = os::call(__NR_pread64, maps_, os::word(chunk), sizeof chunk, offset);
    if (got <= 0) return -1;
    offset += got;
    for (long i = 0; i < got; ++i) {
      if (line.read(chunk[i])) continue;
      if (line.holds(at)) return line.protection();
      line = {};
    }
  }
}

}  // namespace nearfar::tier
