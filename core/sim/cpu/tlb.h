#pragma once

#include <cstdint>

#include "base/address.h"
#include "sim/cpu/cache.h"

namespace nearfar::sim::cpu {

/// Translation look-aside buffers of a core: two levels, and the page-directory entries that its
/// walker remembers. Says what an access finds; what a walk costs is the caches' business.
class Tlb {
 public:
  enum class Found : std::uint8_t { first, second, walk };

  Tlb(const TlbConfig& config, std::uint64_t seed);

  /// Looks `address` up in both levels; afterwards it is in both.
  Found look_up(Address address);

  /// After a miss: whether the walker has to read the page directory's entry as well. It
  /// remembers those of the last few 2 MiB; what lies above them it is taken to know, for an
  /// entry there maps 1 GiB.
  bool reads_directory(Address address);

  [[nodiscard]] bool huge() const { return page_ > small_page; }

  /// The lines of memory in which the entries lie, outside of the device: the tables are kept
  /// in another memory.
  [[nodiscard]] Line entry_line(Address address) const;
  [[nodiscard]] static Line directory_line(Address address);

  static constexpr Bytes small_page = 4096;
  static constexpr Bytes huge_page = Bytes{2} << 20;
  /// Lines from here on belong to page tables.
  static constexpr Line tables = Line{1} << 56;

 private:
  Bytes page_;
  std::uint64_t last_ = ~std::uint64_t{0};  ///< page
  Cache first_, second_, directory_;
};

}  // namespace nearfar::sim::cpu
