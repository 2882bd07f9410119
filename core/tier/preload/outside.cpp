#include "tier/preload/outside.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "tier/os/system.h"
#include "tier/preload/runtime.h"

namespace nearfar::tier::preload {
namespace {

constexpr int none = -1;

/// Which of a function's arguments are what.
struct Function {
  const char* name;
  int path;
  int environment;  ///< none: the program's
  bool searches = false;  ///< in the folders of PATH, for names without a slash
  int folder = none;  ///< that the path is in
};
constexpr Function functions[] = {
    {"execve", 0, 2},
    {"execv", 0, none},
    {"execvp", 0, none, true},
    {"execvpe", 0, 2, true},
    {"execl", 0, none},
    {"execlp", 0, none, true},
    {"execveat", 1, 3, false, 0},
    {"posix_spawn", 1, 5},
    {"posix_spawnp", 1, 5, true},
};

/// A file that is read from, and closed at the end.
class Opened {
 public:
  Opened(int folder, const char* path)
      : number_(static_cast<int>(
            os::call(__NR_openat, folder, os::word(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK))) {}
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() {
    if (number_ >= 0) os::call(__NR_close, number_);
  }
  [[nodiscard]] explicit operator bool() const { return number_ >= 0; }
  /// Whether there is so much at that place.
  template <typename T>
  [[nodiscard]] bool read(T& to, std::uint64_t at) const {
    return os::call(__NR_pread64, number_, os::word(&to), sizeof to, os::word(at)) == sizeof to;
  }
  /// Whether running it changes the user.
  [[nodiscard]] bool changes_user() const {
    struct stat found{};
    if (os::call(__NR_fstat, number_, os::word(&found)) != 0) return false;
    return ((found.st_mode & S_ISUID) != 0 && found.st_uid != geteuid()) ||
           ((found.st_mode & S_ISGID) != 0 && found.st_gid != getegid());
  }

 private:
  int number_;
};

/// Whether the dynamic linker of this library's programs will run the file.
bool is_linked(const Opened& file, const Elf64_Ehdr& head) {
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != EM_X86_64) return false;
  for (std::size_t i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!file.read(segment, head.e_phoff + i * head.e_phentsize)) return false;
    if (segment.p_type == PT_INTERP) return true;
  }
  return false;
}

/// Whether the library will be in a program. Of what cannot be read, or is none, it is not said
/// that it will not.
bool is_reached(int folder, const char* path) {
  char interpreter[256];
  constexpr int most_scripts = 4;  // one that runs another
  for (int scripts = 0; scripts < most_scripts; ++scripts) {
    const Opened file(folder, path);
    if (!file) return true;
    char start[sizeof interpreter] = {};
    Elf64_Ehdr head{};
    if (file.read(head, 0) && std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0)
      return is_linked(file, head) && !file.changes_user();
    for (std::size_t i = 0; i + 1 < sizeof start && file.read(start[i], i) && start[i] != '\n';
         ++i) {
    }
    if (start[0] != '#' || start[1] != '!') return true;
    const char* name = start + 2 + std::strspn(start + 2, " \t");
    const std::size_t length = std::strcspn(name, " \t\n");
    std::memcpy(interpreter, name, length);
    interpreter[length] = '\0';
    path = interpreter;
    folder = AT_FDCWD;
  }
  return true;
}

/// Whether the environment has what loads the library and tells it of its tree.
bool is_loaded(char* const* environment) {
  bool loads = false;
  bool tells = false;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    loads = loads || (entry.starts_with("LD_PRELOAD=") &&
                      entry.find("libnearfar_tier.so") != std::string_view::npos);
    tells = tells || entry.starts_with("NEARFAR_TIER=");
  }
  return loads && tells;
}

/// The first file of that name in the folders of PATH; false if there is none.
bool find(std::string_view name, char* path, std::size_t size) {
  const char* const set = getenv("PATH");
  std::string_view folders = set == nullptr ? "/bin:/usr/bin" : set;
  while (true) {
    const std::size_t end = std::min(folders.find(':'), folders.size());
    const std::string_view folder = end == 0 ? "." : folders.substr(0, end);
    if (folder.size() + 1 + name.size() < size) {
      std::memcpy(path, folder.data(), folder.size());
      path[folder.size()] = '/';
      std::memcpy(path + folder.size() + 1, name.data(), name.size());
      path[folder.size() + 1 + name.size()] = '\0';
      if (os::call(__NR_faccessat, AT_FDCWD, os::word(path), X_OK) == 0) return true;
    }
    if (end == folders.size()) return false;
    folders.remove_prefix(end + 1);
  }
}

const Function* function_of(const char* name) {
  for (const Function& function : functions)
    if (std::strcmp(function.name, name) == 0) return &function;
  return nullptr;
}

}  // namespace

void note_program(const char* function, const long* saved) {
  constexpr int last = 5;
  Runtime* const tier = runtime();
  const Function* const how = function_of(function);
  if (tier == nullptr || how == nullptr) return;
  const auto argument = [&](int number) { return saved[last - number]; };
  const auto* path = os::pointer<const char>(static_cast<os::Place>(argument(how->path)));
  const int folder = how->folder == none ? AT_FDCWD : static_cast<int>(argument(how->folder));
  char* const* const given =
      how->environment == none
          ? environ
          : os::pointer<char*>(static_cast<os::Place>(argument(how->environment)));
  char found[4096];
  if (how->searches && std::strchr(path, '/') == nullptr) {
    if (!find(path, found, sizeof found)) return;
    path = found;
  }
  if (is_loaded(given) && is_reached(folder, path)) return;
  tier->control.add(Count::outside);
}

}  // namespace nearfar::tier::preload
