#include "tier/far/packed_file.h"

#include <array>
#include <cstring>

#include "tier/os/system.h"

namespace nearfar::tier {
namespace {

using os::page_bytes;

constexpr Chunks::Class whole_page = Chunks::classes;
constexpr std::size_t most_packed = page_bytes / 8 * 7;

/// A compressed page, as it lies in its slot. One for the pager's thread; what was packed last is
/// written next, and reading comes in between never.
struct Packed {
  std::uint16_t length;
  std::array<unsigned char, most_packed - sizeof(std::uint16_t)> bytes;
};
constinit Packed packed{};

}  // namespace

void PackedFile::start(std::size_t slots) {
  if (!used()) return;
  codec_.start(compression_);
  file_.map_if_sealed(slots);
}

Chunks::Class PackedFile::pack(const void* page) {
  const std::size_t length = codec_.pack(page, packed.bytes.data(), packed.bytes.size());
  last_ = length == 0 ? page : &packed;
  if (length == 0) return whole_page;
  packed.length = static_cast<std::uint16_t>(length);
  return Chunks::class_for(sizeof packed.length + length);
}

std::size_t PackedFile::write(const Chunks& chunks, Slot slot) {
  const std::size_t bytes = chunks.slot_bytes(slot);
  file_.write_at(chunks.offset(slot), last_, bytes);
  return bytes;
}

PackedFile::View PackedFile::view(const Chunks& chunks, Slot slot, void* buffer) const {
  const std::size_t bytes = chunks.slot_bytes(slot);
  const std::size_t offset = chunks.offset(slot);
  if (chunks.class_of(slot) == whole_page) return {file_.view_at(offset, buffer, bytes), bytes};
  const auto& there = *static_cast<const Packed*>(file_.view_at(offset, &packed, bytes));
  const std::size_t length = there.length;
  if (length > bytes - sizeof there.length || !codec_.unpack(there.bytes.data(), length, buffer)) {
    os::fail("the far file is damaged; the program's memory is lost, so it ends here");
  }
  return {buffer, bytes};
}

std::size_t PackedFile::read(const Chunks& chunks, Slot slot, void* page) const {
  const View there = view(chunks, slot, page);
  if (there.page != page) std::memcpy(page, there.page, page_bytes);
  return there.bytes;
}

}  // namespace nearfar::tier
