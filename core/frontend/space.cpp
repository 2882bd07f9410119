#include "frontend/space.h"

#include <optional>
#include <string>
#include <utility>

#include "base/error.h"

namespace nearfar::frontend {
namespace {

constexpr std::uint64_t down(std::uint64_t address, Bytes size) { return address - address % size; }
constexpr std::uint64_t up(std::uint64_t address, Bytes size) {
  return down(address + size - 1, size);
}

}  // namespace

AddressSpace::AddressSpace(const Frames& near, const Frames& far, Options options)
    : options_(std::move(options)), near_(near), far_(far) {}

sim::cpu::PageMap::Frame AddressSpace::frame_of(Address address) {
  // The page that begins last before the address, if it reaches that far.
  if (auto found = pages_.upper_bound(address.value()); found != pages_.begin()) {
    --found;
    const Page& page = found->second;
    if (address.value() - found->first < size_of(page)) return {page.frame, page.huge};
  }
  std::uint64_t begin = 0;
  const Region* const region = region_of(address.value(), begin);
  if (region == nullptr) ++unknown_pages_;
  const std::uint64_t huge_page = down(address.value(), Frames::huge);
  const std::uint64_t huge_end = huge_page + Frames::huge;
  const bool persistent = region != nullptr && region->kind == Mapping::persistent;
  bool stays = persistent;
  bool huge =
      options_.huge_pages && region != nullptr && begin <= huge_page && region->end >= huge_end;
  if (options_.huge_pages && options_.policy && !huge) {
    huge = !any_mapped(huge_page, huge_end, Mapping::persistent);
    stays = !huge;
  }
  // A huge page takes the place of small ones that its mapping had before it grew.
  if (huge) forget_from(huge_page, huge_end);
  const std::uint64_t page = huge ? huge_page : down(address.value(), Frames::small);
  Page placed = place(page, huge, stays);
  placed.persistent = persistent;
  pages_.emplace(page, placed);
  return {placed.frame, placed.huge};
}

AddressSpace::Page AddressSpace::place(std::uint64_t page, bool huge, bool stays) {
  Tier tier = Tier::far;
  if (!stays) {
    switch (options_.placement) {
      case Placement::near:
        tier = Tier::near;
        break;
      case Placement::far:
        break;
      case Placement::interleave:
        tier = placed_++ % 2 == 0 ? Tier::near : Tier::far;
        break;
      case Placement::policy:
        tier = options_.policy->place(page / unit());
        break;
    }
  }
  std::optional<Address> frame = frames(tier).take(huge);
  if (!frame && !stays) {
    frame = frames(tier == Tier::near ? Tier::far : Tier::near).take(huge);
  }
  if (!frame) {
    throw InputError("the program needs more memory than the model has: " +
                     std::to_string(near_.in_use() + far_.in_use()) +
                     " B are in use; give the model a larger capacity");
  }
  page_at_.insert_or_assign(frame->value(), page);
  return {.frame = *frame, .huge = huge, .stays = stays};
}

const AddressSpace::Region* AddressSpace::region_of(std::uint64_t address,
                                                    std::uint64_t& begin) const {
  auto found = regions_.upper_bound(address);
  if (found == regions_.begin()) return nullptr;
  --found;
  begin = found->first;
  return address < found->second.end ? &found->second : nullptr;
}

bool AddressSpace::any_mapped(std::uint64_t begin, std::uint64_t end) const {
  return any_mapped(begin, end, Mapping::memory) || any_mapped(begin, end, Mapping::persistent);
}

bool AddressSpace::any_mapped(std::uint64_t begin, std::uint64_t end, Mapping kind) const {
  auto at = regions_.lower_bound(end);
  while (at != regions_.begin()) {
    --at;
    if (at->second.end <= begin) return false;
    if (at->second.kind == kind) return true;
  }
  return false;
}

void AddressSpace::mapped(Address address, Bytes bytes, Mapping kind) {
  if (bytes == 0) return;
  std::uint64_t begin = down(address.value(), Frames::small);
  std::uint64_t end = up(address.value() + bytes, Frames::small);
  unmapped(Address(begin), end - begin);
  // A huge page that lies there partly gives way to small ones.
  if (kind == Mapping::persistent && options_.policy) {
    forget_from(down(begin, Frames::huge), up(end, Frames::huge));
  }
  // What grows at its end is one mapping, in which huge pages find room.
  const auto join = [&](std::uint64_t at, bool before) {
    std::uint64_t first = 0;
    const Region* const other = region_of(at, first);
    if (other == nullptr || other->kind != kind) return;
    if (before) {
      begin = first;
    } else {
      end = other->end;
    }
    regions_.erase(first);
  };
  if (begin != 0) join(begin - 1, true);
  join(end, false);
  regions_.insert_or_assign(begin, Region{.end = end, .kind = kind});
}

void AddressSpace::cut_regions(std::uint64_t begin, std::uint64_t end) {
  auto at = regions_.upper_bound(begin);
  if (at != regions_.begin()) --at;
  while (at != regions_.end() && at->first < end) {
    const std::uint64_t first = at->first;
    const Region region = at->second;
    if (region.end <= begin) {
      ++at;
      continue;
    }
    at = regions_.erase(at);
    if (first < begin) regions_.emplace(first, Region{.end = begin, .kind = region.kind});
    if (region.end > end) at = regions_.emplace(end, region).first;
  }
}

void AddressSpace::unmapped(Address address, Bytes bytes) {
  const std::uint64_t begin = down(address.value(), Frames::small);
  const std::uint64_t end = up(address.value() + bytes, Frames::small);
  cut_regions(begin, end);
  auto page = pages_.lower_bound(down(begin, Frames::huge));
  while (page != pages_.end() && page->first < end) {
    const auto next = std::next(page);
    const std::uint64_t page_end = page->first + size_of(page->second);
    if (page_end > begin && !any_mapped(page->first, page_end)) forget(page);
    page = next;
  }
}

void AddressSpace::forget_from(std::uint64_t begin, std::uint64_t end) {
  auto page = pages_.lower_bound(begin);
  while (page != pages_.end() && page->first < end) forget(page++);
}

void AddressSpace::forget(Pages::iterator page) {
  const Page& gone = page->second;
  if (options_.policy && !gone.stays) options_.policy->removed(page->first / unit());
  gone_lines_ += gone.reads + gone.writes;
  page_at_.erase(gone.frame.value());
  (is_near(gone.frame) ? near_ : far_).give_back(gone.frame, gone.huge);
  pages_.erase(page);
  ++generation_;
}

void AddressSpace::remapped(Address from, Bytes from_bytes, Address to, Bytes to_bytes) {
  std::uint64_t begin = 0;
  const Region* const region = region_of(from.value(), begin);
  const Mapping kind = region != nullptr ? region->kind : Mapping::memory;
  std::vector<std::pair<std::uint64_t, Page>> moved;
  const Bytes kept = from_bytes < to_bytes ? from_bytes : to_bytes;
  for (auto page = pages_.lower_bound(from.value());
       page != pages_.end() && page->first - from.value() < kept;) {
    // Policies know pages by their addresses: to them it is another page.
    const std::uint64_t there = page->first - from.value() + to.value();
    const bool aligned = !page->second.huge || there % Frames::huge == 0;
    if (!options_.policy && aligned) {
      moved.emplace_back(there, page->second);
      page = pages_.erase(page);
    } else {
      ++page;
    }
  }
  unmapped(from, from_bytes);
  mapped(to, to_bytes, kind);
  for (const auto& [there, page] : moved) {
    pages_.emplace(there, page);
    page_at_.insert_or_assign(page.frame.value(), there);
  }
  ++generation_;
}

void AddressSpace::touched(Address line, bool write, Tick now, std::vector<Copy>& copies) {
  auto owner = page_at_.find(down(line.value(), Frames::small));
  if (owner == page_at_.end()) owner = page_at_.find(down(line.value(), Frames::huge));
  if (owner == page_at_.end()) return;  // the page has gone while the line was on its way
  const std::uint64_t address = owner->second;
  Page& page = pages_.at(address);
  ++(write ? page.writes : page.reads);
  if (!options_.policy || page.stays) return;
  wanted_.clear();
  options_.policy->accessed(address / unit(), write, now, wanted_);
  for (const policy::Move& move : wanted_) this->move(move, copies);
}

/// Both pages of an exchange are read, then written: a buffer holds them in between.
void AddressSpace::move(const policy::Move& move, std::vector<Copy>& copies) {
  const std::uint64_t in = move.in * unit();
  const auto found = pages_.find(in);
  if (found == pages_.end() || is_near(found->second.frame)) return;
  if (move.out != policy::Move::nobody) {
    const std::uint64_t out = move.out * unit();
    const auto other = pages_.find(out);
    if (other == pages_.end() || !is_near(other->second.frame)) return;
    const Address near = other->second.frame;
    const Address far = found->second.frame;
    relocate(out, far, copies);
    relocate(in, near, copies);
    return;
  }
  const bool huge = found->second.huge;
  const std::optional<Address> frame = near_.take(huge);
  if (!frame) return;
  const Address far = found->second.frame;
  page_at_.erase(far.value());
  far_.give_back(far, huge);
  relocate(in, *frame, copies);
}

void AddressSpace::relocate(std::uint64_t page, Address to, std::vector<Copy>& copies) {
  Page& moved = pages_.at(page);
  copies.push_back({.from = moved.frame, .to = to, .bytes = size_of(moved)});
  moved.frame = to;
  page_at_.insert_or_assign(to.value(), page);
  ++moves_;
  ++generation_;
}

void AddressSpace::forget_counts() {
  for (auto& [address, page] : pages_) page.reads = page.writes = 0;
  moves_ = 0;
  gone_lines_ = 0;
}

}  // namespace nearfar::frontend
