#include "tier/pager/write_back.h"

#include <array>
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
  std::array<const Page*, most_at_once> compared{};
  for (std::size_t i = 0; i < leaving.count; ++i) {
    const PageNumber page = state_.limbo.at(leaving.positions[i]);
    if (is_compared(page)) compared[i] = &state_.table[page];
  }
  const FarPages::Copies copies = far_.find_copies({compared.data(), leaving.count});
  std::array<FarStore::Outgoing, most_at_once> outgoing;
  std::array<std::uint64_t, 4> pages{};  // by their need
  std::size_t written = 0;
  for (std::size_t i = 0; i < leaving.count; ++i) {
    const PageNumber page = state_.limbo.at(leaving.positions[i]);
    const void* const contents = os::pointer(state_.staged(leaving.positions[i]));
    const Need need = classify(page, contents, copies[i]);
    apply(page, need);
    ++pages[static_cast<std::size_t>(need)];
    if (need == Need::write) outgoing[written++] = {&state_.table[page], contents};
  }
  far_.write({outgoing.data(), written});
  const auto count = [&](Need need) { return pages[static_cast<std::size_t>(need)]; };
  state_.control.add(Count::clean_drops, count(Need::none_protected) + count(Need::none_equal));
  state_.control.add(Count::protected_drops, count(Need::none_protected));
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
      if (entry.stored() && (entry.borrowed || state_.slots().shared(entry.slot())))
        state_.drop_slot(entry);
      break;
  }
}

}  // namespace nearfar::tier
