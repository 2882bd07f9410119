#include "frontend/guest_pages.h"

#include <algorithm>
#include <stdexcept>

#include "frontend/frames.h"

namespace nearfar::frontend {

using sim::cpu::Access;

GuestPages::GuestPages(AddressSpace& memory) : memory_(memory) {
  memory_.watch([this](std::uint64_t, bool, Address) { ++generation_; });
}

bool GuestPages::maps_otherwise(std::uint64_t virtual_page, std::uint64_t physical_page) const {
  const PageTable::Word word =
      table_of(virtual_page << page_bits).find(virtual_page << page_bits).word;
  return word != 0 && word != static_cast<PageTable::Word>(physical_page + 1);
}

bool GuestPages::maps(std::uint64_t virtual_page, std::uint64_t physical_page) {
  const std::uint64_t address = virtual_page << page_bits;
  const auto word = static_cast<PageTable::Word>(physical_page + 1);
  PageTable& table = address >> 63 == 0 ? lower_ : upper_;
  const PageTable::Word before = table.find(address).word;
  if (before == word) return false;
  table.set(address, false, word);
  if (before == 0) return false;
  ++generation_;
  return true;
}

void GuestPages::forget_lower_half() {
  lower_ = {};
  ++generation_;
}

std::optional<Address> GuestPages::physical(Address address) const {
  const PageTable::Word word = table_of(address.value()).find(address.value()).word;
  if (word == 0) return std::nullopt;
  const std::uint64_t page = word - std::uint64_t{1};
  return Address((page << page_bits) + address.value() % Frames::small);
}

sim::cpu::PageMap::Frame GuestPages::frame_of(Address address) {
  const std::optional<Address> in_guest = physical(address);
  if (!in_guest) throw std::logic_error("an access of a guest to a page that was not told");
  const Frame found = memory_.frame_of(*in_guest);
  // The guest's own mapping has small pages, which may lie anywhere in a huge one of its memory.
  const Bytes offset = found.huge ? in_guest->value() % Frames::huge / Frames::small : 0;
  return {found.frame + offset * Frames::small, false};
}

std::optional<sim::cpu::PageMap::Frame> GuestPages::find(Address address) const {
  const std::optional<Address> in_guest = physical(address);
  const std::optional<Frame> found = in_guest ? memory_.find(*in_guest) : std::nullopt;
  if (!found) return std::nullopt;
  const Bytes offset = found->huge ? in_guest->value() % Frames::huge / Frames::small : 0;
  return Frame{found->frame + offset * Frames::small, false};
}

std::optional<Tick> GuestGate::pass(sim::cpu::Socket::Core core, const sim::cpu::Block& block,
                                    std::span<const Access> accesses, Tick now, bool drained) {
  translated_.clear();
  for (Access rest : accesses) {
    // Pages beside each other in the guest's addresses lie anywhere in its memory.
    while (true) {
      Access piece = rest;
      const Bytes room = Frames::small - rest.address % Frames::small;
      piece.size = static_cast<std::uint16_t>(std::min<Bytes>(rest.size, room));
      if (const auto at = pages_.physical(Address(rest.address))) {
        piece.address = at->value();
        translated_.push_back(piece);
      }
      if (piece.size == rest.size) break;
      rest.address += piece.size;
      rest.size = static_cast<std::uint16_t>(rest.size - piece.size);
    }
  }
  return gate_.pass(core, block, translated_, now, drained);
}

}  // namespace nearfar::frontend
