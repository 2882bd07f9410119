#include "tier/preload/environment.h"

#include <fcntl.h>

#include <cstring>

#include "tier/os/system.h"

namespace nearfar::tier::preload {
namespace {

/// The environment's characters, one after another; an entry ends with '\0'.
class Characters {
 public:
  Characters()
      : file_(os::call(__NR_openat, AT_FDCWD, os::word("/proc/self/environ"),
                       O_RDONLY | O_CLOEXEC)) {}
  Characters(const Characters&) = delete;
  Characters& operator=(const Characters&) = delete;
  ~Characters() {
    if (file_ >= 0) os::call(__NR_close, file_);
  }

  /// False behind the last one.
  bool next(char& c) {
    if (at_ == count_) {
      at_ = 0;
      count_ = file_ < 0 ? 0 : os::call(__NR_read, file_, os::word(chunk_), sizeof chunk_);
      if (count_ <= 0) count_ = 0;
      if (count_ == 0) return false;
    }
    c = chunk_[at_++];
    return true;
  }

 private:
  long file_;
  char chunk_[1024] = {};
  long at_ = 0;
  long count_ = 0;
};

}  // namespace

bool started_with(const char* name, char* value, std::size_t size) {
  Characters characters;
  const std::size_t name_length = std::strlen(name);
  std::size_t at = 0;  // in the entry, whose name is as wanted so far
  bool wanted = true;
  for (char c = 0; characters.next(c); ++at) {
    if (at < name_length) {
      wanted = wanted && c == name[at];
    } else if (at == name_length) {
      wanted = wanted && c == '=';
    } else if (wanted && at - name_length - 1 < size) {
      value[at - name_length - 1] = c;
      if (c == '\0') return true;
    }
    if (c == '\0') {
      at = ~std::size_t{0};
      wanted = true;
    }
  }
  return false;
}

bool started_with_unknown(const char* beginning, const char* const* known, char* name,
                          std::size_t size) {
  Characters characters;
  const auto is_unknown = [&] {
    if (std::strncmp(name, beginning, std::strlen(beginning)) != 0) return false;
    for (const char* const* one = known; *one != nullptr; ++one)
      if (std::strcmp(name, *one) == 0) return false;
    return true;
  };
  std::size_t length = 0;
  bool in_name = true;
  for (char c = 0; characters.next(c);) {
    if (in_name && c == '=') {
      name[length] = '\0';
      if (is_unknown()) return true;
      in_name = false;
    } else if (c == '\0') {
      length = 0;
      in_name = true;
    } else if (in_name && length + 1 < size) {
      name[length++] = c;
    }
  }
  return false;
}

}  // namespace nearfar::tier::preload
