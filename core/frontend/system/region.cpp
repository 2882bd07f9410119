#include "frontend/system/region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

namespace nearfar::frontend::system {

const std::atomic<char>* watched_region(const std::string& folder) {
  const std::string path = folder + "/region";
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw InputError(path + ": cannot be read");
  const void* const at = ::mmap(nullptr, 1, PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  if (at == MAP_FAILED) throw InputError(path + ": cannot be mapped");
  return static_cast<const std::atomic<char>*>(at);
}

}  // namespace nearfar::frontend::system
