#include "tier/preload/instrumentation.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "tier/os/system.h"

namespace nearfar::tier::preload {
namespace {

/// A library or program of a tool, which it maps into each program that it runs.
struct Sign {
  const char* mapped;  ///< how a file's name begins
  const char* tool;
};
constexpr Sign signs[] = {
    {"vgpreload_core", "valgrind"},   {"pinbin", "Pin"},      {"libpindwarf", "Pin"},
    {"libdynamorio.so", "DynamoRIO"}, {"librrpreload", "rr"}, {"rr_page_", "rr"},
};

/// Reads a file of /proc line by line, as the pager's library has no allocator.
class Lines {
 public:
  explicit Lines(const char* path)
      : file_(os::call(__NR_openat, AT_FDCWD, os::word(path), O_RDONLY | O_CLOEXEC)) {}
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines() {
    if (file_ >= 0) os::call(__NR_close, file_);
  }

  /// The next line, without its end and as far as it fits; null behind the last.
  const char* next() {
    std::size_t length = 0;
    bool any = false;
    for (char c = 0; read(c);) {
      any = true;
      if (c == '\n') break;
      if (length + 1 < sizeof line_) line_[length++] = c;
    }
    line_[length] = '\0';
    return any ? line_ : nullptr;
  }

 private:
  bool read(char& c) {
    if (at_ == count_) {
      at_ = 0;
      count_ = file_ < 0 ? 0 : os::call(__NR_read, file_, os::word(chunk_), sizeof chunk_);
      count_ = std::max(count_, 0L);
    }
    if (at_ == count_) return false;
    c = chunk_[at_++];
    return true;
  }

  long file_;
  long at_ = 0;
  long count_ = 0;
  char chunk_[4096] = {};
  char line_[4608] = {};
};

const char* behind_last_slash(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

bool begins(const char* text, const char* with) {
  return std::strncmp(text, with, std::strlen(with)) == 0;
}

const char* mapped_tool() {
  Lines maps("/proc/self/maps");
  while (const char* const line = maps.next()) {
    const char* const path = std::strchr(line, '/');
    if (path == nullptr) continue;
    for (const Sign& sign : signs)
      if (begins(behind_last_slash(path), sign.mapped)) return sign.tool;
  }
  return nullptr;
}

/// The emulator answers for most of /proc/self as if its program ran alone, but for the process's
/// name, which is the emulator's. A process that is the emulator itself has its file, too.
bool is_in_qemu_user() {
  Lines name("/proc/self/comm");
  const char* const process = name.next();
  constexpr const char* emulator = "qemu-x86_64";
  if (process == nullptr || !begins(process, emulator)) return false;
  char path[4096] = {};
  const long length = os::call(__NR_readlinkat, AT_FDCWD, os::word("/proc/self/exe"),
                               os::word(path), sizeof path - 1);
  return length > 0 && !begins(behind_last_slash(path), emulator);
}

}  // namespace

const char* find_instrumentation() {
  if (const char* const tool = mapped_tool()) return tool;
  return is_in_qemu_user() ? "qemu-user" : nullptr;
}

void refuse_instrumentation() {
  const char* const tool = find_instrumentation();
  if (tool == nullptr) return;
  os::refuse(tool, nullptr,
             "a program that the processor runs itself, as an instrumented or emulated one cannot "
             "have its memory managed; leave the tool out, or run it without nearfar");
}

}  // namespace nearfar::tier::preload
