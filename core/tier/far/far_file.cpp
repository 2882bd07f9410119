#include "tier/far/far_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "tier/os/system.h"

namespace nearfar::tier {
namespace {

using os::page_bytes;

std::size_t offset(Slot slot) { return std::size_t{slot} * page_bytes; }

constexpr const char* cut_short =
    "the far file was cut short; the program's memory is lost, so it ends here";

}  // namespace

void FarFile::map(std::size_t slots) {
  map_if_sealed(slots);
  struct statfs system{};
  if (mapped() || os::call(__NR_fstatfs, descriptor_, os::word(&system)) < 0) return;
  if (system.f_type == TMPFS_MAGIC) map_bytes(slots * page_bytes);
}

void FarFile::map_if_sealed(std::size_t slots) {
  const std::size_t length = slots * page_bytes;
  if (!is_sealed(length)) return;
  map_bytes(length);
  sealed_ = mapped();
}

/// Maps the file between two inaccessible pages, so that a program that writes past the end of a
/// neighbouring mapping does not write to far memory. Does nothing if addresses are short
/// (ulimit -v).
void FarFile::map_bytes(std::size_t length) {
  constexpr int nothing = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const long made = os::map(0, length + 2 * page_bytes, PROT_NONE, nothing);
  if (made < 0) return;
  const os::Place begin = static_cast<os::Place>(made) + page_bytes;
  constexpr int in_place = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
  if (os::map(begin, length, PROT_READ | PROT_WRITE, in_place, descriptor_) < 0) {
    os::unmap(static_cast<os::Place>(made), length + 2 * page_bytes);
    return;
  }
  os::advise(begin, length, MADV_DONTDUMP);
  mapped_ = os::pointer<unsigned char>(begin);
}

bool FarFile::is_sealed(std::size_t length) const {
  const long seals = os::call(__NR_fcntl, descriptor_, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || (seals & F_SEAL_WRITE) != 0) return false;
  const long size = os::call(__NR_lseek, descriptor_, 0, SEEK_END);
  return size >= 0 && static_cast<std::size_t>(size) >= length;
}

const unsigned char* FarFile::at(Slot slot) const {
  return mapped_ + std::size_t{slot} * page_bytes;
}

void FarFile::expect(Slot slot) const { expect_bytes(offset(slot + 1)); }

void FarFile::expect_written() const {
  if (mapped()) expect_bytes(end_);
}

void FarFile::expect_bytes(std::size_t bytes) const {
  if (sealed()) return;
  const long size = os::call(__NR_lseek, descriptor_, 0, SEEK_END);
  if (size >= 0 && static_cast<std::size_t>(size) < bytes) os::fail(cut_short);
}

void FarFile::read(Slot slot, void* to, std::size_t pages) const {
  read_at(offset(slot), to, pages * page_bytes);
}

void FarFile::write(Slot slot, const void* from, std::size_t pages) {
  write_at(offset(slot), from, pages * page_bytes);
}

void FarFile::read_at(std::size_t offset, void* to, std::size_t bytes) const {
  if (sealed()) {
    std::memcpy(to, mapped_ + offset, bytes);
    return;
  }
  auto* at = static_cast<char*>(to);
  std::size_t left = bytes;
  for (long from = os::word(offset); left > 0;) {
    const long got = os::call(__NR_pread64, descriptor_, os::word(at), os::word(left), from);
    if (got == -EINTR) continue;
    if (got <= 0) {
      os::fail(got == 0 ? cut_short : "the far file cannot be read; the program ends here", got);
    }
    at += got;
    from += got;
    left -= static_cast<std::size_t>(got);
  }
}

const void* FarFile::view_at(std::size_t offset, void* buffer, std::size_t bytes) const {
  if (sealed()) return mapped_ + offset;
  read_at(offset, buffer, bytes);
  return buffer;
}

void FarFile::write_at(std::size_t offset, const void* from, std::size_t bytes) {
  const std::size_t end = offset + bytes;
  if (mapped() && end <= end_) {
    std::memcpy(mapped_ + offset, from, bytes);
    return;
  }
  end_ = std::max(end_, end);
  const auto* at = static_cast<const char*>(from);
  std::size_t left = bytes;
  for (long to = os::word(offset); left > 0;) {
    const long put = os::call(__NR_pwrite64, descriptor_, os::word(at), os::word(left), to);
    if (put == -EINTR) continue;
    if (put == -EFBIG && sealed()) {  // by a limit on files (ulimit -f), which memory does not have
      os::take_back(SIGXFSZ);
      std::memcpy(mapped_ + to, at, left);
      return;
    }
    if (put <= 0) {
      os::fail(put == -ENOSPC || put == -EDQUOT || put == -EFBIG
                   ? "the far file is full; give --far more room. The program ends here"
                   : "the far file cannot be written; the program ends here",
               put);
    }
    at += put;
    to += put;
    left -= static_cast<std::size_t>(put);
  }
}

}  // namespace nearfar::tier
