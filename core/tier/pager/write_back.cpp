#include "tier/pager/write_back.h"

#include <cstring>

namespace nearfar::tier {
namespace {

using os::page_bytes;

bool all_zeros(const void* contents) {
  const auto* words = static_cast<const std::uint64_t*>(contents);
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < page_bytes / sizeof(std::uint64_t); i += 8) {
    for (std::size_t j = 0; j < 8; ++j) any |= words[i + j];
    if (any != 0) return false;
  }
  return true;
}

}  // namespace

void WriteBack::save(const Leaving& leaving) {
  far_.read_copies(leaving, [this](PageNumber page) { return is_compared(page); });
  Tally tally{};
  if (far_.compresses()) {
    pack_pages(leaving, tally);
  } else {
    write_pages(leaving, tally);
  }
  const auto count = [&](Need need) { return tally[static_cast<std::size_t>(need)]; };
  state_.control.add(Count::clean_drops, count(Need::none_protected) + count(Need::none_equal));
  state_.control.add(Count::guarded_drops, count(Need::none_protected));
  state_.control.add(Count::zero_drops, count(Need::none_zeros));
}

WriteBack::Need WriteBack::classify(PageNumber page, const void* contents,
                                    const void* far_copy) const {
  if (state_.table[page].write_protected) return Need::none_protected;
  if (all_zeros(contents)) return Need::none_zeros;
  if (is_compared(page) && std::memcmp(far_copy, contents, page_bytes) == 0)
    return Need::none_equal;
  return Need::write;
}

void WriteBack::apply(PageNumber page, Need need) {
  Page& entry = state_.table[page];
  entry.state = need == Need::none_zeros ? State::fresh : State::far;
  switch (need) {
    case Need::none_protected:
      protection_.held();
      entry.write_protected = false;
      break;
    case Need::none_equal:
      if (entry.unchanged) protection_.held();
      entry.unchanged = true;
      break;
    case Need::none_zeros:
      state_.drop_slot(entry);
      state_.budget.managed(-1);
      break;
    case Need::write:
      if (entry.unchanged && !entry.written) protection_.broken();
      entry.unchanged = false;
      if (entry.stored() && (entry.borrowed || state_.slots.shared(entry.slot())))
        state_.drop_slot(entry);
      break;
  }
}

/// Classifies one of these pages, takes that down in the page table, and counts it.
WriteBack::Need WriteBack::settle(const Leaving& leaving, std::size_t i, Tally& tally) {
  const std::size_t position = leaving.positions[i];
  const PageNumber page = state_.limbo.at(position);
  const Need need = classify(page, os::pointer(state_.staged(position)), far_.copy_of(leaving, i));
  apply(page, need);
  ++tally[static_cast<std::size_t>(need)];
  return need;
}

/// Writes what lies side by side at both ends at once.
void WriteBack::write_pages(const Leaving& leaving, Tally& tally) {
  std::size_t first = 0;  // of the pages that are to be written and have not been
  std::size_t run = 0;
  Slot slot = no_slot;
  for (std::size_t i = 0; i < leaving.count; ++i) {
    if (settle(leaving, i, tally) != Need::write) continue;
    const std::size_t position = leaving.positions[i];
    const Slot to = far_.own_slot(state_.table[state_.limbo.at(position)]);
    if (run > 0 && (to != slot + run || position != leaving.positions[first] + run)) {
      far_.write(leaving, first, run, slot);
      run = 0;
    }
    if (run == 0) {
      first = i;
      slot = to;
    }
    ++run;
  }
  if (run > 0) far_.write(leaving, first, run, slot);
}

/// Compressed pages have slots of many sizes, so that each is written by itself.
void WriteBack::pack_pages(const Leaving& leaving, Tally& tally) {
  for (std::size_t i = 0; i < leaving.count; ++i) {
    if (settle(leaving, i, tally) != Need::write) continue;
    const std::size_t position = leaving.positions[i];
    far_.pack(state_.table[state_.limbo.at(position)], os::pointer(state_.staged(position)));
  }
}

}  // namespace nearfar::tier
