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
    : options_(std::move(options)), near_(near), far_(far), counts_(options_.policy != nullptr) {}

PageTable::Word AddressSpace::word_of(Address frame, bool stays) const {
  const bool far = !is_near(frame);
  const std::uint64_t number = (frame - (far ? far_ : near_).first()) / Frames::small + 1;
  if (number >> (32 - frame_shift) != 0) {
    throw InputError("the program needs more than 4 TiB of one tier, which is not supported");
  }
  return static_cast<PageTable::Word>(number << frame_shift) | (far ? far_bit : 0) |
         (stays ? stays_bit : 0);
}

AddressSpace::Page AddressSpace::page_of(const PageTable::Found& found) const {
  const Address frame = frame_at(found.word);
  const FrameCounts::Counts counts = counts_.of(frame);
  return {.frame = frame,
          .huge = found.huge,
          .stays = (found.word & stays_bit) != 0,
          .reads = counts.reads,
          .writes = counts.writes};
}

sim::cpu::PageMap::Frame AddressSpace::frame_of(Address address) {
  if (const PageTable::Found found = table_.find(address.value()); found.word != 0) {
    return {frame_at(found.word), found.huge};
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
  return {place(page, huge, stays), huge};
}

Address AddressSpace::place(std::uint64_t page, bool huge, bool stays) {
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
  table_.set(page, huge, word_of(*frame, stays));
  counts_.take(*frame, huge, page);
  return *frame;
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
  each_page(
      [&](std::uint64_t address, const Page& page) {
        const std::uint64_t page_end = address + size_of(page);
        if (page_end > begin && !any_mapped(address, page_end)) forget(address, page);
      },
      down(begin, Frames::huge), end);
}

void AddressSpace::forget_from(std::uint64_t begin, std::uint64_t end) {
  each_page([&](std::uint64_t address, const Page& page) { forget(address, page); }, begin, end);
}

void AddressSpace::forget(std::uint64_t address, const Page& page) {
  if (options_.policy && !page.stays) options_.policy->removed(address / unit());
  gone_lines_ += page.reads + page.writes;
  counts_.give_back(page.frame);
  (is_near(page.frame) ? near_ : far_).give_back(page.frame, page.huge);
  table_.set(address, page.huge, 0);
  ++generation_;
}

void AddressSpace::remapped(Address from, Bytes from_bytes, Address to, Bytes to_bytes) {
  std::uint64_t begin = 0;
  const Region* const region = region_of(from.value(), begin);
  const Mapping kind = region != nullptr ? region->kind : Mapping::memory;
  std::vector<std::pair<std::uint64_t, Page>> moved;
  const Bytes kept = from_bytes < to_bytes ? from_bytes : to_bytes;
  each_page(
      [&](std::uint64_t address, const Page& page) {
        // Policies know pages by their addresses: to them it is another page.
        const std::uint64_t there = address - from.value() + to.value();
        if (options_.policy || (page.huge && there % Frames::huge != 0)) return;
        moved.emplace_back(there, page);
        table_.set(address, page.huge, 0);
      },
      from.value(), from.value() + kept);
  unmapped(from, from_bytes);
  mapped(to, to_bytes, kind);
  for (const auto& [there, page] : moved) {
    table_.set(there, page.huge, word_of(page.frame, page.stays));
  }
  ++generation_;
}

void AddressSpace::touched(Address line, bool write, Tick now, std::vector<Copy>& copies) {
  const Address frame = counts_.add(line, write);
  // The page has gone while the line was on its way; or nobody asks where it is.
  if (frame == FrameCounts::nowhere || !options_.policy) return;
  const std::uint64_t address = counts_.owner(frame);
  if ((table_.find(address).word & stays_bit) != 0) return;
  wanted_.clear();
  options_.policy->accessed(address / unit(), write, now, wanted_);
  for (const policy::Move& move : wanted_) this->move(move, copies);
}

/// Both pages of an exchange are read, then written: a buffer holds them in between.
void AddressSpace::move(const policy::Move& move, std::vector<Copy>& copies) {
  const std::uint64_t in = move.in * unit();
  const PageTable::Found found = table_.find(in);
  if (found.word == 0) return;
  const Page page = page_of(found);
  if (is_near(page.frame)) return;
  if (move.out != policy::Move::nobody) {
    const std::uint64_t out = move.out * unit();
    const PageTable::Found there = table_.find(out);
    if (there.word == 0) return;
    const Page other = page_of(there);
    if (!is_near(other.frame)) return;
    relocate(out, other, page.frame, copies);
    relocate(in, page, other.frame, copies);
    return;
  }
  const std::optional<Address> frame = near_.take(page.huge);
  if (!frame) return;
  counts_.give_back(page.frame);
  far_.give_back(page.frame, page.huge);
  relocate(in, page, *frame, copies);
}

void AddressSpace::relocate(std::uint64_t address, const Page& page, Address to,
                            std::vector<Copy>& copies) {
  copies.push_back({.from = page.frame, .to = to, .bytes = size_of(page)});
  table_.set(address, page.huge, word_of(to, page.stays));
  counts_.take(to, page.huge, address);
  counts_.set(to, {.reads = page.reads, .writes = page.writes});
  ++moves_;
  ++generation_;
}

void AddressSpace::forget_counts() {
  counts_.forget_counts();
  moves_ = 0;
  gone_lines_ = 0;
}

}  // namespace nearfar::frontend
