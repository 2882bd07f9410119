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
    : options_(std::move(options)),
      near_(near),
      far_(far),
      counts_(options_.placer != nullptr),
      numbers_(options_.huge_pages) {}

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

std::optional<sim::cpu::PageMap::Frame> AddressSpace::find(Address address) const {
  const PageTable::Found found = table_.find(address.value());
  if (found.word == 0) return std::nullopt;
  return Frame{frame_at(found.word), found.huge};
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
  if (options_.huge_pages && options_.placer && !huge) {
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
  policy::PageIndex index = policy::no_page;
  if (!stays) {
    switch (options_.place) {
      case Place::near:
        tier = Tier::near;
        break;
      case Place::far:
        break;
      case Place::interleave:
        tier = placed_++ % 2 == 0 ? Tier::near : Tier::far;
        break;
      case Place::policy:
        index = numbers_.take(page);
        tier = options_.placer->place(index, near_free());
        break;
    }
  }
  std::optional<Address> frame = frames(tier).take(huge);
  if (!frame && !stays && !is_cached()) {
    frame = frames(tier == Tier::near ? Tier::far : Tier::near).take(huge);
  }
  if (!frame) {
    throw InputError("the program needs more memory than the model has: " +
                     std::to_string(near_.in_use() + far_.in_use()) +
                     " B are in use; give the model a larger capacity");
  }
  table_.set(page, huge, word_of(*frame, stays));
  if (watch_) watch_(page, huge, *frame);
  counts_.take(*frame, huge, index);
  if (index != policy::no_page) {
    if (index >= homes_.size()) homes_.resize(index + std::size_t{1});
    homes_[index] = *frame;
    options_.placer->placed(index, is_near(*frame) ? Tier::near : Tier::far);
  }
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
  if (kind == Mapping::persistent && options_.placer) {
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
  if (options_.placer && !page.stays) {
    const policy::PageIndex index = numbers_.of(address);
    options_.placer->released(index);
    numbers_.give_back(index);
    if (is_cached() && is_near(page.frame)) {
      counts_.give_back(homes_[index]);
      far_.give_back(homes_[index], page.huge);
    }
  }
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
  struct Moved {
    std::uint64_t address;
    Page page;
    policy::PageIndex index;
  };
  std::vector<Moved> moved;
  const Bytes kept = from_bytes < to_bytes ? from_bytes : to_bytes;
  each_page(
      [&](std::uint64_t address, const Page& page) {
        const std::uint64_t there = address - from.value() + to.value();
        // A policy's huge pages may hold parts of other mappings.
        if (page.huge && (options_.placer || there % Frames::huge != 0)) return;
        policy::PageIndex index = policy::no_page;
        if (options_.placer && !page.stays) {
          index = numbers_.of(address);
          numbers_.leave(index);
        }
        moved.push_back({.address = there, .page = page, .index = index});
        table_.set(address, page.huge, 0);
      },
      from.value(), from.value() + kept);
  unmapped(from, from_bytes);
  mapped(to, to_bytes, kind);
  for (const auto& [there, page, index] : moved) {
    table_.set(there, page.huge, word_of(page.frame, page.stays));
    if (index != policy::no_page) numbers_.set(index, there);
  }
  ++generation_;
}

void AddressSpace::asked(Address line, bool write, Tick now, std::vector<Copy>& copies) {
  const Address frame = counts_.add(line, write);
  // The page may have gone while the line was on its way.
  if (frame == FrameCounts::nowhere || !options_.placer) return;
  const policy::PageIndex page = counts_.owner(frame);
  if (page == policy::no_page) return;
  wanted_.clear();
  options_.placer->asked(page, write, now, wanted_);
  make(wanted_, copies);
}

bool AddressSpace::faults(Address address) const {
  if (!is_cached()) return false;
  const PageTable::Found found = table_.find(address.value());
  if (found.word == 0) return true;
  if ((found.word & stays_bit) != 0) return false;
  return options_.placer->faults(numbers_.of(down(address.value(), unit())));
}

void AddressSpace::touch(Address address, bool write, Tick now, std::vector<Copy>& copies) {
  if (!options_.placer->needs_touches()) return;
  frame_of(address);
  if ((table_.find(address.value()).word & stays_bit) != 0) return;
  wanted_.clear();
  options_.placer->touched(numbers_.of(down(address.value(), unit())), write, now, wanted_);
  make(wanted_, copies);
}

void AddressSpace::make(const std::vector<Placer::Move>& moves, std::vector<Copy>& copies) {
  for (const Placer::Move& move : moves) {
    if (is_cached()) {
      cache(move, copies);
    } else {
      exchange(move.pages, copies);
    }
  }
}

/// The page as it lies in that tier; nothing where it does not.
std::optional<AddressSpace::Page> AddressSpace::page_in(Tier tier, policy::PageIndex page) const {
  if (page == policy::no_page) return std::nullopt;
  const Page found = page_of(table_.find(numbers_.address_of(page)));
  return is_near(found.frame) == (tier == Tier::near) ? std::optional(found) : std::nullopt;
}

/// Both pages of an exchange are read, then written: a buffer holds them in between.
void AddressSpace::exchange(const policy::Exchange& pages, std::vector<Copy>& copies) {
  const std::optional<Page> in = page_in(Tier::far, pages.promote);
  const std::optional<Page> out = page_in(Tier::near, pages.demote);
  if (in && out) {
    relocate(pages.demote, *out, in->frame, &copies);
    relocate(pages.promote, *in, out->frame, &copies);
  } else if (in && pages.demote == policy::no_page) {
    const std::optional<Address> frame = near_.take(in->huge);
    if (!frame) return;
    counts_.give_back(in->frame);
    far_.give_back(in->frame, in->huge);
    relocate(pages.promote, *in, *frame, &copies);
  } else if (out && pages.promote == policy::no_page) {
    const std::optional<Address> frame = far_.take(out->huge);
    if (!frame) return;
    counts_.give_back(out->frame);
    near_.give_back(out->frame, out->huge);
    relocate(pages.demote, *out, *frame, &copies);
  }
}

/// A page that leaves goes back to its frame in far memory, and one that comes in keeps its own.
void AddressSpace::cache(const Placer::Move& move, std::vector<Copy>& copies) {
  if (const std::optional<Page> out = page_in(Tier::near, move.pages.demote)) {
    const Address home = homes_[move.pages.demote];
    Page page = *out;
    // Lines that were on their way there when the page came in.
    const FrameCounts::Counts late = counts_.of(home);
    page.reads += late.reads;
    page.writes += late.writes;
    counts_.give_back(page.frame);
    near_.give_back(page.frame, page.huge);
    relocate(move.pages.demote, page, home, move.copies_out ? &copies : nullptr);
  }
  const std::optional<Page> in = page_in(Tier::far, move.pages.promote);
  const std::optional<Address> frame = in ? near_.take(in->huge) : std::nullopt;
  if (!frame) return;
  counts_.set(in->frame, {});
  relocate(move.pages.promote, *in, *frame, move.copies_in ? &copies : nullptr);
}

/// The page lies at `to` from now on. Its lines are copied there where `copies` takes them.
void AddressSpace::relocate(policy::PageIndex index, const Page& page, Address to,
                            std::vector<Copy>* copies) {
  const std::uint64_t address = numbers_.address_of(index);
  table_.set(address, page.huge, word_of(to, page.stays));
  if (watch_) watch_(address, page.huge, to);
  counts_.take(to, page.huge, index);
  counts_.set(to, {.reads = page.reads, .writes = page.writes});
  options_.placer->placed(index, is_near(to) ? Tier::near : Tier::far);
  ++generation_;
  if (copies == nullptr) return;
  copies->push_back({.from = page.frame, .to = to, .bytes = size_of(page)});
  ++moves_;
}

void AddressSpace::forget_counts() {
  counts_.forget_counts();
  if (options_.placer) options_.placer->forget_counts();
  moves_ = 0;
  gone_lines_ = 0;
}

}  // namespace nearfar::frontend
