#include "tier/preload/guest.h"

#include <sys/mman.h>

#include <algorithm>

#include "tier/os/system.h"
#include "tier/preload/environment.h"

namespace nearfar::tier::preload {
namespace {

constexpr const char* variable = "NEARFAR_TIER_GUEST";
/// QEMU_VMALLOC_ALIGN of QEMU on x86-64: what a huge page is aligned to.
constexpr std::size_t alignment = std::size_t{2} << 20U;
/// Linux takes memory in by blocks of so much on x86-64, so nothing less is plugged in.
constexpr std::size_t plugged = std::size_t{128} << 20U;

}  // namespace

Guest Guest::started_with() {
  Guest guest;
  char value[4096];
  if (!preload::started_with(variable, value, sizeof value)) return guest;
  constexpr const char* expected =
      "the bytes of each block of the guest's memory, with commas "
      "between, such as 4294967296 (32 blocks at most)";
  const char* at = value;
  for (bool more = true; more;) {
    constexpr std::size_t largest = std::size_t{1} << 46U;
    std::size_t bytes = 0;
    for (; *at >= '0' && *at <= '9' && bytes < largest; ++at)
      bytes = bytes * 10 + static_cast<std::size_t>(*at - '0');
    more = *at == ',';
    const bool is_block = bytes != 0 && bytes % os::page_bytes == 0 && bytes < largest;
    if (!is_block || (!more && *at != '\0') || guest.count_ == most)
      os::refuse(variable, value, expected);
    guest.blocks_[guest.count_++] = bytes;
    ++at;
  }
  return guest;
}

bool Guest::reserves(std::size_t length, int protection, int flags) const {
  constexpr int plain = MAP_PRIVATE | MAP_ANONYMOUS;
  if (protection != PROT_NONE || flags != plain || length <= alignment) return false;
  const std::size_t block = length - alignment;
  const auto* const end = blocks_.begin() + count_;
  return block % plugged == 0 || std::find(blocks_.begin(), end, block) != end;
}

}  // namespace nearfar::tier::preload
