#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/rng.h"
#include "sim/device.h"
#include "sim/persistence/program.h"

namespace nearfar::sim {

/// The cores and caches of one run of visit_runs().
class CrashCores {
 public:
  CrashCores(Device& memory, const persistence::Program& program, std::uint64_t seed);

  /// Lets a moment pass; false when there is nothing left that could happen.
  bool step();

  [[nodiscard]] const std::vector<bool>& passed() const { return passed_; }
  [[nodiscard]] bool left(std::uint32_t op) const { return left_[op]; }
  /// The stores to a line, in order; all see those before visible().
  [[nodiscard]] const std::vector<std::uint32_t>& order(std::uint32_t line) const {
    return lines_[line].order;
  }
  [[nodiscard]] std::uint32_t visible(std::uint32_t line) const { return lines_[line].visible; }
  /// How many of them a loss of power would leave, by what the memory's components hold.
  [[nodiscard]] std::uint32_t durable(std::uint32_t line) const;
  /// As durable(), by the writes that the memory has acknowledged.
  [[nodiscard]] std::uint32_t acknowledged(std::uint32_t line) const {
    return lines_[line].accepted;
  }

 private:
  static constexpr std::uint32_t no_store = ~std::uint32_t{0};

  struct Core {
    std::uint32_t next = 0;              ///< of its operations
    std::deque<std::uint32_t> buffer;    ///< store buffer
    std::vector<std::uint32_t> combining;  ///< non-temporal stores
    std::vector<std::pair<std::uint32_t, std::uint32_t>> owed;  ///< line, stores accepted
  };
  struct Line {
    std::vector<std::uint32_t> order;
    std::uint32_t visible = 0;
    std::uint32_t accepted = 0;   ///< the memory has said so
    std::uint32_t sent = 0;
    bool queued = false;          ///< a write of it waits to be sent, or is under way
    std::uint32_t combined = no_store;  ///< the non-temporal store under way
  };
  /// What a write carries; its handle is its number, from 1 on.
  struct Snapshot {
    std::uint32_t line;
    std::uint32_t stores;
  };

  bool issue(std::uint32_t number);
  bool leave(std::uint32_t number);
  bool combine(std::uint32_t number);
  bool evict();
  [[nodiscard]] bool may_combine(const Core& core, std::uint32_t op) const;
  [[nodiscard]] bool fenced(const Core& core) const;
  [[nodiscard]] std::uint64_t load(const Core& core, std::uint32_t op) const;
  void make_visible(std::uint32_t op);
  void want(std::uint32_t line);
  void send();
  void collect();

  Device& memory_;
  const persistence::Program& program_;
  Rng rng_;
  std::vector<Core> cores_;
  std::vector<Line> lines_;
  std::vector<bool> left_;
  std::vector<bool> passed_;
  std::vector<Snapshot> snapshots_;
  std::vector<std::uint32_t> to_send_;  ///< lines
  bool refused_ = false;
  std::uint32_t in_flight_ = 0;
  Tick now_{};
  Sink sink_;
};

}  // namespace nearfar::sim
