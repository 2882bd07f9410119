#include "frontend/qemu/shared_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace nearfar::frontend::qemu {
namespace {

constexpr std::size_t furthest = 64;  ///< from where a key belongs; a fuller table is full

}  // namespace

std::uint64_t Key::hash() const {
  // FNV's low bits are weak where keys differ in their last byte alone (MurmurHash3's finaliser).
  std::uint64_t mixed = value_ ^ value_ >> 33;
  mixed *= 0xff51afd7ed558ccd;
  mixed ^= mixed >> 33;
  return mixed == 0 ? 1 : mixed;
}

SharedTable::SharedTable(const std::string& file) {
  const int opened = open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (opened < 0) throw InputError(file + ": " + std::strerror(errno));
  struct stat status{};
  void* mapped = MAP_FAILED;
  if (fstat(opened, &status) == 0) {
    count_ = static_cast<std::size_t>(status.st_size) / sizeof(Place);
    mapped = mmap(nullptr, count_ * sizeof(Place), PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
  }
  const int why = errno;
  close(opened);
  if (mapped == MAP_FAILED) throw InputError(file + ": " + std::strerror(why));
  places_ = static_cast<Place*>(mapped);
}

SharedTable::~SharedTable() { munmap(places_, count_ * sizeof(Place)); }

std::uint64_t SharedTable::get(const Key& key) const {
  const std::uint64_t wanted = key.hash();
  for (std::size_t i = 0; i < std::min(furthest, count_); ++i) {
    const Place& at = places_[(wanted + i) % count_];
    const std::uint64_t found = at.key.load(std::memory_order_acquire);
    if (found == wanted) return at.number.load();
    if (found == 0) break;
  }
  return 0;
}

SharedTable::Place* SharedTable::place(const Key& key) {
  const std::uint64_t wanted = key.hash();
  for (std::size_t i = 0; i < std::min(furthest, count_); ++i) {
    Place& at = places_[(wanted + i) % count_];
    std::uint64_t found = at.key.load(std::memory_order_acquire);
    if (found == 0) at.key.compare_exchange_strong(found, wanted);  // or another process was faster
    if (found == 0 || found == wanted) return &at;
  }
  lost_.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void SharedTable::raise(const Key& key, std::uint64_t value) {
  Place* const at = place(key);
  if (at == nullptr) return;
  std::uint64_t before = at->number.load();
  while (before < value && !at->number.compare_exchange_weak(before, value)) {
  }
}

void SharedTable::increment(const Key& key) {
  if (Place* const at = place(key)) at->number.fetch_add(1);
}

void SharedTable::set(const Key& key, std::uint64_t value) {
  if (Place* const at = place(key)) at->number.store(value);
}

}  // namespace nearfar::frontend::qemu
