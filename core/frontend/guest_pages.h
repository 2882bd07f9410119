#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "frontend/page_gate.h"
#include "frontend/page_table.h"
#include "frontend/space.h"
#include "sim/cpu/cores.h"

namespace nearfar::frontend {

/// The addresses of a guest's processor: which page of the guest's memory each of its virtual pages
/// is, as its accesses have told, and where the AddressSpace, whose addresses are the guest's
/// physical ones, has that in the simulated machine.
///
/// Its pages have 4 KiB, whatever the guest maps them by: what tells accesses does not tell that.
class GuestPages final : public sim::cpu::PageMap {
 public:
  /// Takes the watch of `memory`, which must outlive this.
  explicit GuestPages(AddressSpace& memory);

  /// Whether the page was told to be another physical one.
  [[nodiscard]] bool maps_otherwise(std::uint64_t virtual_page, std::uint64_t physical_page) const;
  /// A page of the guest's virtual addresses is that of its physical ones from now on. Returns
  /// whether it was another before: then what TLBs know of it is void.
  bool maps(std::uint64_t virtual_page, std::uint64_t physical_page);

  /// Pages of the lower half of addresses have to be told again.
  void forget_lower_half();

  /// Throws std::logic_error for an address that was not told.
  Frame frame_of(Address address) override;
  [[nodiscard]] std::optional<Frame> find(Address address) const override;

  /// The guest's physical address, of one that was told.
  [[nodiscard]] std::optional<Address> physical(Address address) const;

  static constexpr unsigned page_bits = PageTable::small_bits;

 private:
  [[nodiscard]] const PageTable& table_of(std::uint64_t address) const {
    return address >> 63 == 0 ? lower_ : upper_;
  }

  AddressSpace& memory_;
  PageTable lower_, upper_;  ///< numbers of physical pages, counted from 1
};

/// Asks a gate whose addresses are the guest's physical ones.
class GuestGate final : public sim::cpu::BlockGate {
 public:
  GuestGate(const GuestPages& pages, PageGate& gate) : pages_(pages), gate_(gate) {}

  std::optional<Tick> pass(sim::cpu::Socket::Core core, const sim::cpu::Block& block,
                           std::span<const sim::cpu::Access> accesses, Tick now,
                           bool drained) override;

 private:
  const GuestPages& pages_;
  PageGate& gate_;
  std::vector<sim::cpu::Access> translated_;
};

}  // namespace nearfar::frontend
