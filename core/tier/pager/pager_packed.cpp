// Pages that are compressed where they are far. Their slots are of many sizes, so that each page is
// read and written by itself.

#include <algorithm>
#include <cstring>

#include "tier/pager/pager.h"

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

/// Makes pages again from their far copies, or from the word that they are.
void Pager::read_packed(PageNumber page, std::size_t count, unsigned char* to) {
  for (std::size_t i = 0; i < count; ++i) {
    const Page& entry = table_[static_cast<PageNumber>(page + i)];
    unsigned char* const at = to + i * page_bytes;
    if (entry.filled()) {
      std::fill_n(reinterpret_cast<std::uint32_t*>(at), words_a_page, entry.word());
    } else {
      emulate(1, packed_.read(slots_.chunks(), entry.slot(), at));
    }
  }
}

/// What the far file has of pages on their way out.
void Pager::read_packed_copies(const Leaving& leaving) {
  for (std::size_t i = 0; i < leaving.count; ++i) {
    const PageNumber page = limbo_.at(leaving.positions[i]);
    if (!is_compared(page)) continue;
    const Page& entry = table_[page];
    emulate(1, packed_.read(slots_.chunks(), entry.slot(), far_copies + i * page_bytes));
  }
}

void Pager::write_out_packed(const Leaving& leaving) {
  for (std::size_t i = 0; i < leaving.count; ++i) {
    const void* const contents = os::pointer(staged(leaving.positions[i]));
    const PageNumber page = limbo_.at(leaving.positions[i]);
    if (needs_writing(page, contents, far_copy(leaving, i))) pack_out(table_[page], contents);
  }
}

/// Leaves a page's contents in a slot of the right size; or nowhere, where one word says all.
void Pager::pack_out(Page& entry, const void* contents) {
  if (one_word_over_and_over(contents)) {
    drop_slot(entry);
    entry.fill_with(*static_cast<const std::uint32_t*>(contents));
    control_.add(Count::filled_drops);
    return;
  }
  const Chunks::Class size = packed_.pack(contents);
  if (entry.stored() && slots_.chunks().class_of(entry.slot()) != size) drop_slot(entry);
  if (!entry.stored()) {
    const Slot slot = slots_.take(size);
    if (slot == no_slot) os::fail("the far file is full: all its slots are in use");
    entry.set_slot(slot);
  }
  emulate(1, packed_.write(slots_.chunks(), entry.slot()));
  control_.add(Count::copies_out);
}

}  // namespace nearfar::tier
