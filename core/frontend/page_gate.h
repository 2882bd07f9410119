#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/tick.h"
#include "frontend/mover.h"
#include "frontend/space.h"
#include "sim/cpu/cores.h"

namespace nearfar::frontend {

/// Has cores wait for pages that are moved, where a policy moves them:
///
/// - While the mover is full no core plays a block. A program cannot cause moves faster than
///   memory can make them, and the time in which it waits is its own.
/// - Where near memory is a cache, a core that touches a page which is not there takes a fault:
///   it finishes what came before, and goes on when the page has been copied in, behind the one
///   that made room for it if that had to be copied out. Another core that touches a page on its
///   way waits for it too.
/// - A core at which a scan of the page tables falls due makes it.
class PageGate final : public sim::cpu::BlockGate {
 public:
  PageGate(AddressSpace& space, Mover& mover);
  PageGate(const PageGate&) = delete;
  PageGate& operator=(const PageGate&) = delete;
  ~PageGate() override { mover_.when_copied({}); }

  std::optional<Tick> pass(sim::cpu::Socket::Core core, const sim::cpu::Block& block,
                           std::span<const sim::cpu::Access> accesses, Tick now,
                           bool drained) override;

  /// Blocks that waited because the mover was full.
  [[nodiscard]] std::uint64_t held() const { return held_; }
  void forget_counts() { held_ = 0; }

 private:
  /// Of a core: how far it has touched what its next block accesses, and what it waits for.
  struct Waiting {
    std::size_t access = 0;
    Bytes touched = 0;  ///< of that access
    bool faults = false;  ///< a page is on its way for it
    bool held = false;    ///< the mover was full
    std::uint64_t page = 0;  ///< the last it faulted on: its address
    std::uint64_t awaits = 0;  ///< the page that is on its way for another core
    Tick begin{};  ///< when the block may begin, if it had to wait
  };

  bool touch(Waiting& waiting, sim::cpu::Socket::Core core, const sim::cpu::Access& access,
             Tick now, bool drained);
  [[nodiscard]] bool bringing(std::uint64_t page) const;
  void copied(Mover::Waiter waiter, Tick now);

  AddressSpace& space_;
  Mover& mover_;
  std::vector<Waiting> waiting_;  ///< by core
  std::size_t faulting_ = 0;      ///< cores
  std::vector<AddressSpace::Copy> copies_;
  std::uint64_t held_ = 0;
};

}  // namespace nearfar::frontend
