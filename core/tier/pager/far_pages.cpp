#include "tier/pager/far_pages.h"

#include <algorithm>
#include <cstring>

#include "tier/os/clock.h"
#include "tier/tree/orders.h"

namespace nearfar::tier {
namespace {

using os::page_bytes;

constexpr std::size_t words_a_page = page_bytes / sizeof(std::uint32_t);

bool one_word_over_and_over(const void* contents) {
  const auto* words = static_cast<const std::uint32_t*>(contents);
  // A page that is its own copy, one word further on.
  return std::memcmp(words, words + 1, page_bytes - sizeof *words) == 0;
}

}  // namespace

FarPages::FarPages(PagerState& state, FarFile file)
    : state_(state), file_(file), packed_(file, orders_of(state.control).compression) {}

void FarPages::start() {
  packed_.start(state_.control.far_slots);
  if (!packed_.used()) file_.map(state_.control.far_slots);
}

bool FarPages::takes_time() const {
  const Orders& orders = orders_of(state_.control);
  return orders.latency_ps != 0 || orders.transfer_ps != 0;
}

FarPages::Run FarPages::run(PageNumber page, std::size_t most) {
  const std::size_t pages = adjacent_slots(page, most);
  emulate(pages);
  return {file_.at(state_.table[page].slot()), pages};
}

void FarPages::expect(PageNumber page, const Run& run) const {
  file_.expect(state_.table[page].slot() + static_cast<Slot>(run.pages) - 1);
}

const void* FarPages::view(PageNumber page, std::size_t count) {
  const Page& entry = state_.table[page];
  if (count == 1 && packed_.used() && !entry.filled()) {
    const PackedFile::View there = packed_.view(state_.slots.chunks(), entry.slot(), far_copies);
    emulate(1, there.bytes);
    return there.page;
  }
  read(page, count, far_copies);
  return far_copies;
}

/// Those in adjacent slots are read at once.
void FarPages::read(PageNumber page, std::size_t count, unsigned char* to) {
  if (packed_.used()) {
    for (std::size_t i = 0; i < count; ++i)
      read_packed(static_cast<PageNumber>(page + i), to + i * page_bytes);
    return;
  }
  for (std::size_t i = 0; i < count;) {
    const auto first = static_cast<PageNumber>(page + i);
    const std::size_t run = adjacent_slots(first, count - i);
    file_.read(state_.table[first].slot(), to + i * page_bytes, run);
    emulate(run);
    i += run;
  }
}

/// How many far pages from `page` on, `most` at most, lie side by side in the far file, too.
std::size_t FarPages::adjacent_slots(PageNumber page, std::size_t most) const {
  const Slot first = state_.table[page].slot();
  std::size_t run = 1;
  while (run < most && state_.table[static_cast<PageNumber>(page + run)].slot() == first + run)
    ++run;
  return run;
}

/// Makes a page again from its compressed copy, or from the word that it is.
void FarPages::read_packed(PageNumber page, unsigned char* to) {
  const Page& entry = state_.table[page];
  if (entry.filled()) {
    std::fill_n(reinterpret_cast<std::uint32_t*>(to), words_a_page, entry.word());
  } else {
    emulate(1, packed_.read(state_.slots.chunks(), entry.slot(), to));
  }
}

void FarPages::read_copy_run(Slot slot, std::size_t first, std::size_t pages) {
  file_.read(slot, far_copies + first * page_bytes, pages);
  emulate(pages);
}

void FarPages::write(const Leaving& leaving, std::size_t first, std::size_t pages, Slot to) {
  file_.write(to, os::pointer(state_.staged(leaving.positions[first])), pages);
  emulate(pages);
  state_.control.add(Count::copies_out, pages);
}

Slot FarPages::own_slot(Page& entry) {
  if (entry.slot() == no_slot) entry.set_slot(take_slot(state_.slots.take()));
  return entry.slot();
}

Slot FarPages::take_slot(Slot slot) const {
  if (slot == no_slot) os::fail("the far file is full: all its slots are in use");
  return slot;
}

void FarPages::pack(Page& entry, const void* contents) {
  if (one_word_over_and_over(contents)) {
    state_.drop_slot(entry);
    entry.fill_with(*static_cast<const std::uint32_t*>(contents));
    state_.control.add(Count::filled_drops);
    return;
  }
  const Chunks::Class size = packed_.pack(contents);
  if (entry.stored() && state_.slots.chunks().class_of(entry.slot()) != size)
    state_.drop_slot(entry);
  if (!entry.stored()) entry.set_slot(take_slot(state_.slots.take(size)));
  emulate(1, packed_.write(state_.slots.chunks(), entry.slot()));
  state_.control.add(Count::copies_out);
}

/// Far memory that does not exist takes time all the same: so much for each page moved, and for
/// the bytes that move.
void FarPages::emulate(std::size_t pages, std::size_t bytes) {
  const Orders& orders = orders_of(state_.control);
  const std::uint64_t delay_ns =
      (orders.latency_ps * pages + orders.transfer_ps * bytes / page_bytes) / 1000;
  if (delay_ns == 0) return;
  const std::uint64_t begun = os::monotonic_ns();
  os::wait_until(begun + delay_ns);
  state_.control.add(Count::emulated_ns, delay_ns);
  state_.control.add(Count::delayed_ns, os::monotonic_ns() - begun);
}

}  // namespace nearfar::tier
