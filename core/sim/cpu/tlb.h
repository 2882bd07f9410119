#pragma once

#include <cstdint>

#include "base/address.h"
#include "sim/cpu/cache.h"

namespace nearfar::sim::cpu {

/// Translation look-aside buffers of a core: two levels, and the page-directory entries that its
/// walkers remember. Says what an access finds; what a walk costs is the caches' business.
class Tlb {
 public:
  enum class Found : std::uint8_t { first, second, walk };

  Tlb(const TlbConfig& config, std::uint64_t seed);

  /// Looks the page of `address` up in both levels. Found in either, it is in both afterwards.
  Found look_up(Address address, bool huge);

  /// Whether either level has the page; changes nothing.
  [[nodiscard]] bool holds(Address address, bool huge) const;

  /// A walk has found the page: it is in both levels.
  void fill(Address address, bool huge);

  /// The page's entry is void, if either level has it (invlpg).
  void forget(Address address, bool huge);
  /// All entries of the lower half of addresses are void, and what walkers remember (a write to
  /// CR3). Those of the upper half stay, as a kernel's do that it marks global.
  void forget_lower_half();

  /// Whether the first level has the page; if so it was used, if not nothing has changed.
  bool hit_first(Address address, bool huge) {
    const std::uint64_t page = page_of(address, huge);
    return page == last_ || use_first(page, huge);
  }

  /// Of a walk: whether it has to read the page directory's entry as well. Walkers remember
  /// those of the last few 2 MiB; what lies above them they are taken to know, for an entry
  /// there maps 1 GiB.
  bool reads_directory(Address address, bool huge);

  /// Of the model's pages, unless the caller says otherwise.
  [[nodiscard]] bool huge() const { return huge_; }

  /// The lines in which the entries lie, by names that no line of the program's has. Directories
  /// come behind all entries.
  [[nodiscard]] static Line entry_line(Address address, bool huge);
  [[nodiscard]] static Line directory_line(Address address);

  static constexpr Bytes small_page = 4096;
  static constexpr Bytes huge_page = Bytes{2} << 20;
  /// Lines from here on belong to page tables, those from there on to page directories.
  static constexpr Line tables = Line{1} << 56;
  static constexpr Line directories = tables + (tables >> 1);

 private:
  /// A page's name in the buffers. Both sizes share the second level, where the numbers of those
  /// that are not the model's own size are set apart.
  [[nodiscard]] std::uint64_t page_of(Address address, bool huge) const {
    const std::uint64_t page = address.value() >> (huge ? huge_bits : small_bits);
    return huge == huge_ ? page : page | other_size;
  }

  bool use_first(std::uint64_t page, bool huge);

  static constexpr unsigned small_bits = 12;
  static constexpr unsigned huge_bits = 21;
  static constexpr std::uint64_t other_size = std::uint64_t{1} << 60;

  bool huge_;
  static constexpr std::uint64_t no_page = ~std::uint64_t{0};
  std::uint64_t last_ = no_page;  ///< page
  Cache first_small_, first_huge_, second_, directory_;
};

}  // namespace nearfar::sim::cpu
