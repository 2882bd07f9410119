#pragma once

#include <cstdint>
#include <span>

#include "sim/cpu/core.h"
#include "sim/cpu/store_buffer.h"

namespace nearfar::sim::cpu {

/// An instruction a cycle, in order. A load that L1 does not have holds up everything until its
/// data are here; a store waits in the store queue like the window core's. What a program costs on
/// it is its instructions and the latencies of its misses, one after another.
class SimpleCore final : public Core {
 public:
  SimpleCore(Socket& socket, const CoreConfig& config, PageMap& pages)
      : Core(socket, config, pages),
        period_(fine(config.period)),
        stores_(socket, core_, config, counts_) {}

  bool play(const Block& block, std::span<const Access> accesses) override;
  [[nodiscard]] bool drained() const override { return !waiting_ && stores_.empty(); }
  [[nodiscard]] Tick clock() const override { return Tick(now_ >> fine_bits); }
  [[nodiscard]] Tick retired() const override { return coarse(now_); }
  void skip_to(Tick time, Cause cause) override { pass(fine(time), cause); }
  bool flush_line(Address line, bool keep) override;

  void arrived(Socket::Waiter waiter, Tick now) override;
  void translated(Socket::Waiter waiter, Tick now) override;
  void due(Socket::Waiter token, Tick now) override;
  void retry(Tick now) override;
  void nt_stored(Tick now) override { stores_.nt_stored(now); }
  void flushed(Tick now) override { stores_.flushed(now); }
  void flush_freed(Tick now) override { stores_.flush_freed(now); }

 private:
  bool touch(const Instruction& instruction, const Access& access);
  bool load_line(std::uint64_t address);
  bool store_line(StoreBuffer::Kind kind, std::uint64_t address, std::uint32_t size);
  bool order(const Instruction& instruction, const Access* access);
  void ask();
  void here(Tick at, Cause cause, Tick walk);
  void pass(Fine until, Cause cause);

  Fine period_;
  StoreBuffer stores_;
  Fine now_ = 0;
  std::uint64_t position_ = 0;  ///< of the instruction, for the store buffer
  Place asked_;                 ///< the line waited for
  Address leads_to_;            ///< what the access that is touched loads, if it is marked
  Tick asked_at_{};
  Tick walk_{};
  bool waiting_ = false;
  bool refused_ = false;
  bool arrived_ = false;
  bool fence_entered_ = false;
  std::size_t next_instruction_ = 0;
  std::size_t next_access_ = 0;
  std::uint32_t done_bytes_ = 0;  ///< of the next access
};

}  // namespace nearfar::sim::cpu
