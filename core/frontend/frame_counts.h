#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/address.h"
#include "frontend/frames.h"
#include "frontend/tally.h"
#include "policy/page.h"

namespace nearfar::frontend {

/// The lines of each page frame that memory was asked for, and the number of the page that has the
/// frame: two bytes a frame of 4 KiB for the counts of one that is seldom asked for, and four more
/// where owners are wanted. A frame of 2 MiB is counted as its first 4 KiB.
class FrameCounts {
 public:
  struct Counts {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
  };

  explicit FrameCounts(bool owners) : owners_(owners) {}

  /// The frame is in use from now on, by the page with the number `owner`.
  void take(Address frame, bool huge, policy::PageIndex owner) {
    const std::size_t chunk = frame.value() / Frames::huge;
    if (chunk >= chunks_.size()) chunks_.resize(chunk + 1);
    if (!chunks_[chunk]) chunks_[chunk] = std::make_unique<Chunk>(owners_);
    Chunk& of = *chunks_[chunk];
    const std::size_t index = index_of(frame);
    of.huge = huge;
    of.used[index] = true;
    if (owners_) of.owner[index] = owner;
  }

  void give_back(Address frame) {
    Chunk& of = *chunks_[frame.value() / Frames::huge];
    const std::size_t index = index_of(frame);
    of.used[index] = false;
    of.reads.set(index, 0);
    of.writes.set(index, 0);
  }

  /// A page has moved, and its counts go along.
  void set(Address frame, const Counts& counts) {
    Chunk& of = *chunks_[frame.value() / Frames::huge];
    of.reads.set(index_of(frame), counts.reads);
    of.writes.set(index_of(frame), counts.writes);
  }

  /// Counts a line. The first address of its frame; `nowhere`, and nothing is counted, where none
  /// is in use.
  Address add(Address line, bool write) {
    const std::size_t chunk = line.value() / Frames::huge;
    if (chunk >= chunks_.size() || !chunks_[chunk]) return nowhere;
    Chunk& of = *chunks_[chunk];
    const Address frame = line.aligned_down(of.huge ? Frames::huge : Frames::small);
    const std::size_t index = index_of(frame);
    if (!of.used[index]) return nowhere;
    (write ? of.writes : of.reads).add(index);
    return frame;
  }

  [[nodiscard]] Counts of(Address frame) const {
    const Chunk& of = *chunks_[frame.value() / Frames::huge];
    return {of.reads[index_of(frame)], of.writes[index_of(frame)]};
  }
  /// The page that has the frame; with owners only.
  [[nodiscard]] policy::PageIndex owner(Address frame) const {
    return chunks_[frame.value() / Frames::huge]->owner[index_of(frame)];
  }

  void forget_counts() {
    for (const auto& chunk : chunks_) {
      if (chunk) chunk->reads = chunk->writes = Tally(frames);
    }
  }

  static constexpr Address nowhere{~std::uint64_t{0}};

 private:
  static constexpr std::size_t frames = Frames::huge / Frames::small;

  /// 2 MiB of memory, which are one frame or 512 as long as the program runs.
  struct Chunk {
    explicit Chunk(bool owners) : owner(owners ? frames : 0) {}
    Tally reads{frames};
    Tally writes{frames};
    std::bitset<frames> used;
    bool huge = false;
    std::vector<policy::PageIndex> owner;
  };

  [[nodiscard]] static std::size_t index_of(Address frame) {
    return frame.value() % Frames::huge / Frames::small;
  }

  bool owners_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
};

}  // namespace nearfar::frontend
