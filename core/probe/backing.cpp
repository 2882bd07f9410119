#include "probe/backing.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace nearfar::probe {
namespace {

constexpr Bytes page = 4096;
/// A device-DAX mapping is made of whole 2 MiB pages, the default alignment of its region.
constexpr Bytes dax_page = Bytes{2} << 20;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw InputError("file: " + path + " " + why);
}

std::string folder_of(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

Site inspect_absent(const std::string& path) {
  if (path.starts_with("/dev/")) refuse(path, "does not exist: no such device");
  const std::string folder = folder_of(path);
  struct statvfs space{};
  if (statvfs(folder.c_str(), &space) != 0) {
    refuse(path, "cannot be made: its folder does not exist");
  }
  if ((space.f_flag & ST_RDONLY) != 0) refuse(path, "cannot be made: its folder is read-only");
  if (space.f_blocks == 0) refuse(path, "cannot be made: its folder holds no files");
  if (access(folder.c_str(), W_OK) != 0) refuse(path, "cannot be made: " + refusal(folder, errno));
  return {Place::fresh, Bytes{space.f_bavail} * space.f_frsize};
}

Bytes block_device_size(const std::string& path) {
  const Descriptor device(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::uint64_t size = 0;
  if (device.get() < 0 || ioctl(device.get(), BLKGETSIZE64, &size) != 0) {
    throw InputError(refusal(path, errno));
  }
  return size;
}

Bytes dax_device_size(const std::string& path, dev_t device) {
  std::ifstream file("/sys/dev/char/" + std::to_string(major(device)) + ":" +
                     std::to_string(minor(device)) + "/size");
  Bytes size = 0;
  if (!(file >> size)) refuse(path, "is a device, but not one of memory");
  return size;
}

Bytes free_beside(const std::string& path) {
  struct statvfs space{};
  if (statvfs(path.c_str(), &space) != 0) throw InputError(refusal(path, errno));
  return Bytes{space.f_bavail} * space.f_frsize;
}

Site inspect_present(const std::string& path, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) refuse(path, "is a folder; name a file in it");
  if (S_ISBLK(status.st_mode)) return {Place::block_device, block_device_size(path)};
  if (S_ISCHR(status.st_mode)) {
    return {Place::dax_device, dax_device_size(path, status.st_rdev)};
  }
  if (!S_ISREG(status.st_mode)) refuse(path, "is neither a file nor a memory device");
  if (status.st_size == 0) return {Place::empty_file, free_beside(path)};
  return {Place::file, static_cast<Bytes>(status.st_size)};
}

int open_flags(Place place) {
  int flags = O_RDWR | O_CLOEXEC;
  if (place == Place::fresh) flags |= O_CREAT | O_EXCL;
  // On a block device O_EXCL means: not while a file system is mounted from it.
  if (place == Place::block_device) flags |= O_EXCL;
  return flags;
}

Descriptor open_site(const std::string& path, const Site& site) {
  Descriptor descriptor(open(path.c_str(), open_flags(site.place), 0600));
  if (descriptor.get() < 0) throw InputError(refusal(path, errno));
  if (site.place == Place::fresh) unlink(path.c_str());
  if (flock(descriptor.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw InputError(refusal(path, EBUSY));
  }
  return descriptor;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

std::string refusal(const std::string& path, int error) {
  const auto line = [&](const std::string& why) { return "file: " + path + " " + why; };
  switch (error) {
    case ENOENT:
      return line("does not exist");
    case EACCES:
    case EPERM:
      return line("may not be written by this user");
    case EROFS:
      return line("is read-only");
    case EBUSY:
    case ETXTBSY:
      return line("is in use: stop or unmount what uses it");
    case ENOSPC:
      return line("is on a file system without enough space");
    default:
      return line(std::string("cannot be used: ") + std::strerror(error));
  }
}

Site inspect(const std::string& path, bool destructive) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) throw InputError(refusal(path, errno));
    return inspect_absent(path);
  }
  const Site site = inspect_present(path, status);
  if (site.place != Place::empty_file && !destructive) {
    refuse(path, (site.place == Place::file ? "holds " + std::to_string(site.capacity) + " B"
                                            : std::string("is a device that may hold data")) +
                     ", which measuring destroys; --destructive " + path + " allows it");
  }
  if (access(path.c_str(), R_OK | W_OK) != 0) throw InputError(refusal(path, errno));
  return site;
}

Backing::Backing(const std::string& path, Bytes bytes, bool destructive)
    : site_(inspect(path, destructive)), descriptor_(open_site(path, site_)) {
  reserve(path, bytes);
}

/// Space is taken now: a page that finds none when it is touched would kill the process.
void Backing::reserve(const std::string& path, Bytes bytes) const {
  if (bytes > site_.capacity) {
    throw InputError("file: " + path + " is too small: " + std::to_string(bytes) +
                     " B are needed, " + std::to_string(site_.capacity) + " B are there");
  }
  if (site_.place != Place::fresh && site_.place != Place::empty_file) return;
  const int error = posix_fallocate(descriptor_.get(), 0, static_cast<off_t>(bytes));
  if (error != 0) throw InputError(refusal(path, error));
}

Backing::~Backing() {
  // Failing to empty it again leaves zeros in a file that was empty: nothing to tell.
  if (site_.place == Place::empty_file && ftruncate(descriptor_.get(), 0) != 0) return;
}

Bytes Backing::granularity() const { return site_.place == Place::dax_device ? dax_page : page; }

}  // namespace nearfar::probe
