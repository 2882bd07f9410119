// What tests of far memory share: a tree's control memory and its far file.

#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "tier/far/far_stores.h"
#include "tier/os/system.h"
#include "tree_memory.h"

namespace nearfar::tier {

using PageContents = std::array<unsigned char, os::page_bytes>;

inline PageContents page_of(int value) {
  PageContents page;
  page.fill(static_cast<unsigned char>(value));
  return page;
}

/// A page of which so many bytes are random, and the others zeros.
inline PageContents page_with(Rng& rng, std::size_t random) {
  PageContents page{};
  for (std::size_t i = 0; i < random; ++i) page[i] = static_cast<unsigned char>(rng.below(256));
  return page;
}

/// The shared memory of a tree, and its far file, which lies in memory.
struct FarTree {
  static constexpr std::size_t chunks = 400;

  std::unique_ptr<Control, FreeTreeMemory> control = tree_memory();
  std::unique_ptr<Chunks::Totals> totals = std::make_unique<Chunks::Totals>();
  std::vector<Slots::Users> users = std::vector<Slots::Users>(chunks * Chunks::slots_a_chunk);
  std::vector<Chunks::State> states = std::vector<Chunks::State>(chunks);
  int file = ::memfd_create("far", MFD_CLOEXEC | MFD_ALLOW_SEALING);

  FarTree() { control->far_slots = users.size(); }
  ~FarTree() { ::close(file); }
  FarTree(const FarTree&) = delete;
  FarTree& operator=(const FarTree&) = delete;

  /// What a store is made with.
  [[nodiscard]] FarMemory memory(Compression compression = Compression::none) const {
    return {control.get(), const_cast<Slots::Users*>(users.data()),
            totals.get(),  const_cast<Chunks::State*>(states.data()),
            file,          compression};
  }
  /// Slots of a member, in chunks.
  [[nodiscard]] Slots slots(std::size_t member) {
    Slots made(*control, users.data(), Chunks(*control, *totals, states.data(), file));
    made.become(member);
    return made;
  }
  /// From here on the file cannot be truncated.
  void seal() const {
    ASSERT_EQ(::ftruncate(file, static_cast<off_t>(users.size() * os::page_bytes)), 0);
    ASSERT_EQ(::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  }
  [[nodiscard]] std::size_t file_bytes() const {
    struct stat status{};
    ::fstat(file, &status);
    return static_cast<std::size_t>(status.st_blocks) * 512;
  }
};

}  // namespace nearfar::tier
