#include "probe/memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/error.h"

namespace nearfar::probe {
namespace {

constexpr Bytes small_page = 4096;
constexpr Bytes huge_page = Bytes{2} << 20;
constexpr Bytes gigantic_page = Bytes{1} << 30;

// Linux's numbers, for C libraries that are older than the kernel.
constexpr int advice_collapse = 25;       // MADV_COLLAPSE, Linux 6.1
constexpr int huge_2mib = 21 << 26;       // MAP_HUGE_2MB
constexpr int huge_1gib = 30 << 26;       // MAP_HUGE_1GB
constexpr int policy_bind = 2;            // MPOL_BIND
constexpr int sync_mapping = 0x80000;     // MAP_SYNC
constexpr int shared_validated = 0x03;    // MAP_SHARED_VALIDATE

Bytes size_of(Pages pages) {
  if (pages == Pages::small) return small_page;
  return pages == Pages::huge ? huge_page : gigantic_page;
}

Bytes rounded_up(Bytes bytes, Bytes unit) { return (bytes + unit - 1) / unit * unit; }

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Bytes of transparent huge pages behind the mapping that begins at `base`.
Bytes transparent_huge_bytes(const std::byte* base) {
  std::ostringstream start;
  start << std::hex << reinterpret_cast<std::uintptr_t>(base) << '-';
  std::ifstream smaps("/proc/self/smaps");
  bool here = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.starts_with(start.str())) here = true;
    if (!here || !line.starts_with("AnonHugePages:")) continue;
    return Bytes{std::stoull(line.substr(std::strlen("AnonHugePages:")))} << 10;
  }
  return 0;
}

}  // namespace

Pages parse_pages(const std::string& name) {
  if (name == "4KiB") return Pages::small;
  if (name == "2MiB") return Pages::huge;
  if (name == "1GiB") return Pages::gigantic;
  throw InputError("pages: unknown '" + name + "', expected 4KiB, 2MiB or 1GiB");
}

Mapping::Mapping(Mapping&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)), bytes_(other.bytes_) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(start_, other.start_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (start_ != nullptr) munmap(start_, bytes_);
}

Memory::Memory(const MemoryRequest& request) : size_(request.bytes) {
  if (request.bytes == 0) throw InputError("memory: found 0 B, expected a size above zero");
  if (request.path.empty()) {
    map_anonymous(request.pages);
    if (request.node >= 0) bind(request.node);
    touch();
    check_granted(request.pages);
  } else {
    backing_ = std::make_unique<Backing>(request.path, request.bytes, request.destructive);
    map_file(request.path);
    touch();
  }
}

void Memory::map_file(const std::string& path) {
  usable_ = rounded_up(size_, backing_->granularity());
  const auto map = [&](int flags) {
    return mmap(nullptr, usable_, PROT_READ | PROT_WRITE, flags, backing_->descriptor(), 0);
  };
  void* mapped = map(shared_validated | sync_mapping);
  synchronous_ = mapped != MAP_FAILED;
  // Without DAX the kernel refuses MAP_SYNC; then the page cache is what gets measured.
  if (!synchronous_) mapped = map(MAP_SHARED);
  if (mapped == MAP_FAILED) throw InputError(refusal(path, errno));
  mapping_ = Mapping(mapped, usable_);
  base_ = mapping_.start();
}

void Memory::map_anonymous(Pages pages) {
  usable_ = rounded_up(size_, size_of(pages));
  if (pages != Pages::small && map_reserved(pages)) return;
  if (pages == Pages::gigantic) {
    const std::string count = std::to_string(usable_ / gigantic_page);
    throw InputError("pages: " + count + " free pages of 1 GiB are needed; as root: echo " + count +
                     " > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages");
  }
  map_transparent(pages);
}

/// Huge pages that the administrator has set aside; false when there are not enough.
bool Memory::map_reserved(Pages pages) {
  const int size = pages == Pages::huge ? huge_2mib : huge_1gib;
  void* mapped = mmap(nullptr, usable_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | size, -1, 0);
  if (mapped == MAP_FAILED) return false;
  mapping_ = Mapping(mapped, usable_);
  base_ = mapping_.start();
  from_pool_ = true;
  return true;
}

/// Aligned to huge pages whatever the page size, so that 4 KiB and 2 MiB compare like with like.
/// What lies around it stays inaccessible, and so no neighbour joins this mapping in the
/// kernel's accounts.
void Memory::map_transparent(Pages pages) {
  const auto refuse = [&] {
    throw InputError("memory: " + std::to_string(size_) +
                     " B cannot be mapped: " + std::strerror(errno));
  };
  const Bytes reserved = usable_ + 2 * huge_page;
  void* mapped =
      mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) refuse();
  mapping_ = Mapping(mapped, reserved);
  const auto address = reinterpret_cast<std::uintptr_t>(mapped);
  base_ = mapping_.start() + (rounded_up(address + small_page, huge_page) - address);
  if (mprotect(base_, usable_, PROT_READ | PROT_WRITE) != 0) refuse();
  madvise(base_, usable_, pages == Pages::small ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
}

void Memory::bind(int node) const {
  constexpr std::size_t most = 1024;
  constexpr std::size_t bits = 8 * sizeof(unsigned long);
  std::array<unsigned long, most / bits> mask{};
  const auto index = static_cast<std::size_t>(node);
  bool failed = index >= most;
  if (!failed) {
    mask[index / bits] |= 1ul << index % bits;
    failed = syscall(SYS_mbind, base_, usable_, policy_bind, mask.data(), most, 0) != 0;
  }
  if (failed) {
    throw InputError("node: no memory on node " + std::to_string(node) +
                     "; this machine has it on " +
                     first_line("/sys/devices/system/node/has_memory"));
  }
}

/// Pages are granted when they are touched, and the kernel may quietly give smaller ones.
void Memory::check_granted(Pages pages) const {
  if (pages != Pages::huge || from_pool_) return;
  if (transparent_huge_bytes(base_) < usable_) madvise(base_, usable_, advice_collapse);
  const Bytes granted = transparent_huge_bytes(base_);
  if (granted >= usable_) return;
  throw InputError("pages: the kernel granted 2 MiB pages for " + std::to_string(granted) + " of " +
                   std::to_string(usable_) +
                   " B; as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled; "
                   "echo 1 > /proc/sys/vm/compact_memory");
}

void Memory::check_holds(Bytes wanted) const {
  if (wanted > size_) {
    throw InputError("memory: " + std::to_string(wanted) + " B are reached, " +
                     std::to_string(size_) + " B are mapped");
  }
}

void Memory::touch() const {
  for (Bytes at = 0; at < size_; at += small_page) {
    *static_cast<volatile std::byte*>(base_ + at) = std::byte{0};
  }
}

}  // namespace nearfar::probe
