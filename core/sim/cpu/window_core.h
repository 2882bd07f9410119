#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/slab.h"
#include "sim/cpu/branch_predictor.h"
#include "sim/cpu/core.h"
#include "sim/cpu/ports.h"
#include "sim/cpu/store_buffer.h"

namespace nearfar::sim::cpu {

/// An out-of-order core, as the times at which things happen in it.
///
/// Instructions come in program order, and each gets its times as it comes: it enters when the
/// width, the reorder buffer and its queues have room; it begins when its operands are there and
/// a port is free; it retires in order. While everything that is needed is known, and a load hits
/// L1, that takes no event: a few dozen host instructions. A load that L1 does not have asks for
/// its line in an event of its time, so that the caches beyond and memory see all cores' requests
/// in order; until it is answered its value has a producer, a *node*, instead of a time, and what
/// depends on it becomes a node, too. The core runs on until something that it needs is not known:
/// then it is blocked, play() says so, and the socket's next step may make it known.
///
/// So the core sees L1 a little ahead of time (no more than its reorder buffer beyond the oldest
/// miss), and nothing else.
class WindowCore final : public Core {
 public:
  WindowCore(Socket& socket, const CoreConfig& config, PageMap& pages);

  bool play(const Block& block, std::span<const Access> accesses) override;
  [[nodiscard]] bool looks_ahead() const override { return looks_ahead_; }
  void look_ahead(std::span<const Upcoming> next) override;
  [[nodiscard]] bool drained() const override { return head_ == tail_ && stores_.empty(); }
  [[nodiscard]] bool idle() const override { return drained() && wrong_loads_ == 0; }
  [[nodiscard]] Tick clock() const override { return Tick(dispatch_ >> fine_bits); }
  [[nodiscard]] Tick retired() const override { return coarse(retired_); }
  void skip_to(Tick time, Cause cause) override { put_off(fine(time), cause); }
  bool flush_line(Address line, bool keep) override;

  void arrived(Socket::Waiter waiter, Tick now) override;
  void translated(Socket::Waiter waiter, Tick now) override;
  void due(Socket::Waiter token, Tick now) override;
  void retry(Tick now) override;
  void nt_stored(Tick now) override { stores_.nt_stored(now); }
  void flushed(Tick now) override { stores_.flushed(now); }
  void flush_freed(Tick now) override { stores_.flush_freed(now); }

 private:
  using Waiter = Socket::Waiter;
  using Position = std::uint64_t;  ///< of issue slots, counted from the first ever
  using Index = std::uint32_t;
  static constexpr Index no_index = ~Index{0};
  static constexpr Position nowhere = ~Position{0};

  /// A place of the reorder buffer.
  struct Slot {
    Fine time = 0;  ///< of completion
    Fine walk = 0;  ///< of that, translation
    Fine begin = 0;  ///< when it issued
    Cause cause = Cause::base;
    Cause delayed_by = Cause::base;  ///< before it issued
  };

  /// What an instruction asks of the ports.
  struct Operation {
    Fine latency = 0;
    Ports::Mask ports = 0;
    bool stores = false;
  };

  /// A result that is not known yet: of a load, or of what depends on one.
  struct Node {
    enum class Kind : std::uint8_t { load, forward, result, address } kind = Kind::result;
    Cause cause = Cause::base;
    bool prefetch = false;
    std::uint32_t guess = 0;  ///< not 0: of the path that this wrong guess led to
    Operation operation{};
    std::uint32_t inputs = 0;  ///< that are not known
    Index dependents = no_index;  ///< the first edge
    Fine time = 0;              ///< the latest known input
    Fine walk = 0;
    Tick asked{};
    Place place{};  ///< of a load
    Position position = nowhere;
    std::array<Register, 3> destinations{no_register, no_register, no_register};
    StoreBuffer::Number first_store = 0, last_store = 0;
  };
  struct Edge {
    Index node = no_index;
    Index next = no_index;
  };
  /// What a result waits for, as it is put together.
  struct Inputs {
    Fine latest = 0;  ///< of those that are known
    std::uint32_t count = 0;
    std::array<Fine, 12> unknown{};

    void add(Fine value) {
      if (!cpu::known(value)) {
        unknown[count++] = value;
      } else if (value > latest) {
        latest = value;
      }
    }
  };
  /// Registers as they would be if the guess had been right.
  struct Shadow {
    std::array<Fine, 256> values;
    std::array<bool, 256> lost{};  ///< other than the program's
  };
  // window_short.cpp: the way of most instructions, which take one slot and for which all is known.
  // Plays from the next instruction on, as many as go that way.
  void play_short(const Block& block, std::span<const Access> accesses);
  template <bool all_retired>
  void play_short(std::span<const Digest> steps, std::span<const Access> accesses);
  // Each of these: false, and nothing has happened, if it is not that way.
  template <bool all_retired, bool many>
  bool short_compute(const Digest& step);
  template <bool all_retired>
  bool short_load(const Digest& step, const Access& access);
  template <bool all_retired>
  bool short_store(const Digest& step, const Access& access);
  template <bool all_retired>
  bool slot_free(Fine& at) const;
  template <bool many>
  [[nodiscard]] Fine sources_of(const Digest& step, Fine at) const;
  [[nodiscard]] Fine address_of(const Digest& step, Fine at) const;
  [[nodiscard]] Fine compute(const Digest& step, Fine at);
  template <bool all_retired>
  void finish_short(Fine begin, Fine value, Cause cause);

  // window_core.cpp: from a block to times.
  bool enter(const Block& block);
  bool issue(const Instruction& instruction, std::span<const Access> accesses);
  static constexpr std::size_t most_together = 4;  ///< pieces of an instruction
  bool issue_cut(const Instruction& instruction);
  bool issue_string(const Instruction& instruction);
  bool issue_marked(const Instruction& instruction, std::span<const Access> accesses);
  bool issue_pieces(const Instruction& instruction, std::span<const Access> pieces);
  void cut(std::span<const Access> accesses);
  bool dispatch(std::uint32_t slots, std::uint32_t loads, std::uint32_t stores);
  void put_off(Fine until, Cause cause);
  Fine load(const Instruction& instruction, const Access& piece);
  void store(const Instruction& instruction, const Access& piece, Fine address);
  void finish(const Instruction& instruction, Fine value, Cause cause);
  void retire();
  [[nodiscard]] Operation operation_of(const Instruction& instruction) const;

  Fine execute(const Operation& operation, Fine at) {
    if (operation.ports != 0) at = ports_.take(at, operation.ports) + operation.latency;
    if (operation.stores) at = ports_.take(at, Ports::store) + period_;
    return at;
  }
  void set_values(const Instruction& instruction, Fine value) {
    for (const Register destination : instruction.destinations) values_[destination] = value;
    values_[no_register] = 0;
    last_value_ = value;
  }
  void account(Cause cause, Fine time) { counts_.stack[static_cast<std::size_t>(cause)] += time; }
  /// The next slot, which is complete, retires: when it does.
  Fine retire_next(const Slot& next) {
    // Time elsewhere is counted for no cause.
    if (next.delayed_by == Cause::away) retired_ = std::max(retired_, next.begin);
    const Fine earliest = retired_ + slot_time_;
    account(Cause::base, slot_time_);
    if (next.time <= earliest) return retired_ = earliest;
    Fine gap = next.time - earliest;
    if (next.delayed_by != Cause::base && next.begin > earliest) {
      const Fine delay = std::min(gap, next.begin - earliest);
      account(next.delayed_by, delay);
      gap -= delay;
    }
    const Fine walk = std::min(gap, next.walk);
    account(Cause::tlb, walk);
    account(next.cause, gap - walk);
    return retired_ = next.time;
  }

  // window_order.cpp: fences, flushes and what else waits for its turn.
  bool issue_ordering(const Instruction& instruction, std::span<const Access> accesses);
  bool issue_full_fence(const Instruction& instruction);
  bool issue_flush(const Instruction& instruction, const Access& access);
  bool wait_for_all();

  // window_nodes.cpp: what is not known yet.
  Fine later_load(const Place& place, const Inputs& inputs, Node::Kind kind, bool prefetch);
  Fine asked_load(const Place& place, Fine at, bool prefetch);
  void later_result(const Instruction& instruction, const Inputs& inputs,
                    StoreBuffer::Number first_store);
  void later_ask(StoreBuffer::Number store, const Inputs& address);
  void later_compute(const Digest& step, Fine at);
  Index new_node(const Node& node, const Inputs& inputs);
  void ready(Index index);
  void ask(Index index);
  void resolve(Index index, Fine value);
  void put_marked_in_order(std::size_t first);
  void set_result(const Node& node, Index index, Fine value);

  // window_wrong_path.cpp
  void go_wrong(std::span<const Upcoming> path, Shadow shadow);
  void go_wrong(const Instruction& instruction, const Digest& step,
                std::span<const Access> accesses, Fine at, Shadow& shadow);
  Fine load_wrong(const Instruction& instruction, std::span<const Access> accesses, Fine at,
                  const Shadow& shadow);
  [[nodiscard]] bool given_up(const Node& node, Fine at) const {
    return node.guess != 0 && (node.guess != guess_ || at >= guess_known_);
  }

  [[nodiscard]] Slot& slot(Position position) { return rob_[position & rob_mask_]; }
  /// When what was there retired; never less than what was before.
  [[nodiscard]] Fine& left(Position position) { return left_[position & rob_mask_]; }

  Fine slot_time_;  ///< a cycle over the width
  Fine period_;
  Fine l1_latency_;
  Fine forward_;
  Ports ports_;
  StoreBuffer stores_;
  BranchPredictor predictor_;

  // The front end.
  Fine dispatch_ = 0;  ///< when the next instruction can enter, but for room
  Fine start_ = 0;  ///< when the last one did
  Cause delay_ = Cause::base;  ///< what put the next one off, if anything did
  Cause delayed_by_ = Cause::base;  ///< and the last one
  Fine branch_ = 0;  ///< when the last block's end is known
  Fine last_value_ = 0;  ///< of the last instruction
  std::size_t next_instruction_ = 0;
  std::size_t next_access_ = 0;
  std::size_t next_piece_ = 0;
  const Digest* step_ = nullptr;  ///< of the instruction that issues, when it goes the general way
  bool guessed_ = false;
  bool entered_ = false;
  bool wrong_guess_ = false;
  bool looks_ahead_ = false;
  std::uint32_t guess_ = 0;  ///< the number of the last that something was loaded for
  Fine guess_known_ = 0;  ///< to be wrong
  std::uint32_t wrong_loads_ = 0;  ///< under way
  bool cut_ = false;
  bool fence_entered_ = false;
  Address leads_to_;  ///< what the load that issues loads, if it is marked
  bool pretranslates_ = false;

  std::array<Fine, 256> values_{};  ///< of registers; that of no_register is always 0

  // The reorder buffer, and the load queue in its terms.
  std::vector<Slot> rob_;
  std::vector<Fine> left_;
  Position rob_mask_;
  Position head_ = 0;  ///< the first that has not retired
  Position tail_ = 0;
  Fine retired_ = 0;
  Position stuck_at_ = nowhere;  ///< the first that has not retired, when that held up issue
  std::vector<Position> loads_;  ///< by number, a ring
  std::uint64_t load_mask_;
  std::uint64_t load_count_ = 0;

  Slab<Node> nodes_;
  Slab<Edge> edges_;
  std::vector<Index> to_do_;  ///< nodes whose inputs are known
  bool resolving_ = false;
  std::vector<Index> refused_;  ///< loads that found no register
  std::vector<Access> pieces_;
};

}  // namespace nearfar::sim::cpu
