#include "tier/far/compressed_store.h"

#include <algorithm>
#include <cstring>

#include "tier/os/system.h"

namespace nearfar::tier {
namespace {

using os::page_bytes;

constexpr Chunks::Class whole_page = Chunks::classes;
constexpr std::size_t words_a_page = page_bytes / sizeof(std::uint32_t);

bool is_one_word_repeated(const void* contents) {
  const auto* words = static_cast<const std::uint32_t*>(contents);
  // Such a page equals itself shifted by a word.
  return std::memcmp(words, words + 1, page_bytes - sizeof *words) == 0;
}

}  // namespace

FarStore& make_compressed_store(FarStoreStorage& at, const FarMemory& memory) {
  const Chunks chunks(*memory.control, *memory.totals, memory.chunks, memory.descriptor);
  FarFile file(memory.descriptor);
  file.map_if_sealed(memory.control->far_slots);
  const Slots slots(*memory.control, memory.users, chunks);
  return make_far_store_at<CompressedStore>(at, slots, file, memory.compression);
}

CompressedStore::CompressedStore(const Slots& slots, const FarFile& file, Compression compression)
    : FarStore(slots, file.descriptor()), file_(file) {
  codec_.start(compression);
}

/// One stored page; in place where it lies there uncompressed.
FarStore::Run CompressedStore::view_stored(const Page& page, unsigned char* buffer) {
  const Chunks& chunks = slots().chunks();
  const std::size_t bytes = chunks.slot_bytes(page.slot());
  const std::size_t offset = chunks.offset(page.slot());
  const Traffic traffic{1, bytes};
  if (chunks.class_of(page.slot()) == whole_page)
    return {file_.view_at(offset, buffer, bytes), 1, traffic};
  const auto& there = *static_cast<const Packed*>(file_.view_at(offset, &packed_, bytes));
  const std::size_t length = there.length;
  if (length > bytes - sizeof there.length || !codec_.unpack(there.bytes.data(), length, buffer)) {
    os::fail("the far file is damaged; the program's memory is lost, so it ends here");
  }
  return {buffer, 1, traffic};
}

FarStore::Run CompressedStore::view(std::span<const Page> pages, unsigned char* buffer) {
  if (pages.size() == 1 && pages[0].stored()) return view_stored(pages[0], buffer);
  return {buffer, pages.size(), read(pages, buffer)};
}

FarStore::Traffic CompressedStore::read_one(const Page& page, unsigned char* to) {
  if (page.filled()) {
    std::fill_n(reinterpret_cast<std::uint32_t*>(to), words_a_page, page.word());
    return {};
  }
  const Run there = view_stored(page, to);
  if (there.contents != to) std::memcpy(to, there.contents, page_bytes);
  return there.traffic;
}

FarStore::Traffic CompressedStore::read(std::span<const Page> pages, unsigned char* to) {
  Traffic traffic;
  for (const Page& page : pages) {
    traffic += read_one(page, to);
    to += page_bytes;
  }
  return traffic;
}

const void* CompressedStore::in_place(const Page& /*page*/) const { return nullptr; }

void CompressedStore::expect(std::span<const Page> /*pages*/) const {}  // reading says it at once

FarStore::Traffic CompressedStore::find_copies(std::span<const Page* const> pages,
                                               unsigned char* buffer,
                                               std::span<const void*> copies) {
  Traffic traffic;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (pages[i] == nullptr) continue;
    traffic += read_one(*pages[i], buffer + i * page_bytes);
    copies[i] = buffer + i * page_bytes;
  }
  return traffic;
}

FarStore::Written CompressedStore::write(std::span<const Outgoing> pages) {
  Written written;
  for (const Outgoing& outgoing : pages) {
    Page& page = *outgoing.page;
    if (is_one_word_repeated(outgoing.contents)) {
      discard(page);
      page.fill_with(*static_cast<const std::uint32_t*>(outgoing.contents));
      ++written.filled;
      continue;
    }
    const Packing packing = pack(outgoing.contents);
    find_slot(page, packing.size);
    const std::size_t bytes = slots().chunks().slot_bytes(page.slot());
    file_.write_at(slots().chunks().offset(page.slot()), packing.contents, bytes);
    written.traffic += {1, bytes};
  }
  return written;
}

CompressedStore::Packing CompressedStore::pack(const void* contents) {
  const std::size_t length = codec_.pack(contents, packed_.bytes.data(), packed_.bytes.size());
  if (length == 0) return {contents, whole_page};
  packed_.length = static_cast<std::uint16_t>(length);
  return {&packed_, Chunks::class_for(sizeof packed_.length + length)};
}

/// Keeps the page's slot if it has that size.
void CompressedStore::find_slot(Page& page, Chunks::Class size) {
  if (page.stored() && slots().chunks().class_of(page.slot()) != size) discard(page);
  if (!page.stored()) enter(page, slots().take(size));
}

}  // namespace nearfar::tier
