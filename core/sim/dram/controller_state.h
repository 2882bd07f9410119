#pragma once

#include <array>
#include <cstdint>

#include "base/archive.h"
#include "sim/dram/mapping.h"
#include "sim/dram/rank_rules.h"
#include "sim/dram/request_queue.h"
#include "sim/dram/write_drain.h"

namespace nearfar::sim::dram {

enum class Direction : std::uint8_t { read, write };

[[nodiscard]] constexpr Direction opposite(Direction d) {
  return d == Direction::read ? Direction::write : Direction::read;
}

/// Everything the scheduling policy looks at, and the policy's definitions; both ways of
/// finding the next command (Selector, CycleReference) rest on them.
///
/// In each clock cycle one command may go out. Refresh and power management of the ranks
/// come first, lower ranks before higher ones. Then, among the requests of the current
/// direction, each bank proposes one command: for the oldest request that hits its open row,
/// else the precharge or activate that the oldest request needs. Of the proposals that timing
/// allows, column commands go before row commands, then the older request goes first.
///
/// A request that `patience` column commands of its direction have overtaken since it became
/// the oldest is urgent: its bank works for it alone, and once its row is open no other
/// column command goes before it. So every request is served in bounded time.
struct ControllerState {
  static constexpr std::uint32_t patience = 64;
  static constexpr std::int64_t closed = RankRules::closed;

  explicit ControllerState(const Config& config)
      : rules(config),
        drain(config),
        queues{RequestQueue(config.read_queue, config.total_banks()),
               RequestQueue(config.write_queue, config.total_banks())},
        banks_in_rank(config.banks_in_rank()),
        closed_page(config.page == PagePolicy::closed) {
    open_row.fill(closed);
    for (std::uint32_t rank = 0; rank < config.ranks; ++rank) ranks[rank] = rules.initial(rank);
  }

  [[nodiscard]] RequestQueue& queue(Direction d) { return queues[static_cast<unsigned>(d)]; }
  [[nodiscard]] const RequestQueue& queue(Direction d) const {
    return queues[static_cast<unsigned>(d)];
  }

  /// The direction that is served now. Writes that an older read blocks are no reason to
  /// turn the bus.
  [[nodiscard]] Direction direction() const {
    const bool writes = queue(Direction::write).size() > blocked_writes;
    const bool reads = !queue(Direction::read).empty();
    return writes && (drain.active() || !reads) ? Direction::write : Direction::read;
  }

  [[nodiscard]] bool urgent(Direction d) const {
    return overtaken[static_cast<unsigned>(d)] >= patience && !queue(d).oldest()->blocked;
  }

  [[nodiscard]] bool hits(const Location& at) const { return open_row[at.bank] == at.row; }
  /// The same for an entry of the bank's list; the list's end never hits.
  [[nodiscard]] bool hits(std::uint32_t bank, const RequestQueue::Entry& entry) const {
    return open_row[bank] == entry.at.row;
  }

  /// Whether a request may be served at `cycle`, as far as its rank's refresh and power go.
  [[nodiscard]] bool available(const Location& at, Cycle cycle) const {
    const RankState& rank = ranks[at.rank];
    const std::uint32_t in_rank = at.bank % banks_in_rank;
    return rules.available(rank, cycle) && (rules.refresh_of(rank, cycle) >> in_rank & 1) == 0;
  }

  /// The command a request needs next.
  [[nodiscard]] Command needed(Direction d, const Location& at) const {
    if (hits(at)) return d == Direction::read ? Command::rd : Command::wr;
    return open_row[at.bank] == closed ? Command::act : Command::pre;
  }

  void state(Archive& archive) {
    archive(drain, queues, open_row, ranks, blocked_writes, overtaken);
  }

  RankRules rules;
  WriteDrain drain;
  std::array<RequestQueue, 2> queues;
  RankRules::Rows open_row;  ///< by bank, counted over the channel
  std::array<RankState, 4> ranks;
  std::uint32_t blocked_writes = 0;
  std::array<std::uint32_t, 2> overtaken{};  ///< by direction: how often its oldest request was
  std::uint32_t banks_in_rank;
  bool closed_page;
};

/// When the next command for a request goes out, and which bank proposes it.
struct Choice {
  Cycle cycle = never;
  std::uint32_t bank = 0;
  Direction direction = Direction::read;

  void state(Archive& archive) { archive(cycle, bank, direction); }

  /// Column commands before row commands, then age.
  static constexpr std::uint64_t row_command = std::uint64_t{1} << 63;
};

}  // namespace nearfar::sim::dram
