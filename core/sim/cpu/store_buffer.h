#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "sim/cpu/core.h"

namespace nearfar::sim::cpu {

/// The store queue of a core that executes programs, and what stores leave it through: L1,
/// write-combining buffers, flush buffers.
///
/// Stores enter in program order, ask for their line when their address is known, and commit in
/// order once they have retired: into L1 if the line is there and the core's own, and otherwise
/// when it is. A non-temporal store commits into a write-combining buffer, which is sent when all
/// its bytes are there, when another line needs it, or at a fence. A flush commits when it has a
/// flush buffer, or at once if the line is dirty nowhere. A fence commits when all lines that left
/// before it have been accepted by the ADR domain; what follows it commits later still, but has
/// asked for its lines (as the request agent's stores do).
class StoreBuffer {
 public:
  enum class Kind : std::uint8_t { store, nt_store, flush_keep, flush_drop, fence, full_fence };
  using Number = std::uint64_t;  ///< stores are numbered as they enter, from 0
  using Waiter = Socket::Waiter;

  /// Among what the socket tells the core, what is meant for its store buffer.
  static constexpr Waiter is_mine = Waiter{1} << 31;

  StoreBuffer(Socket& socket, Hierarchy::Core core, const CoreConfig& config, CoreCounts& counts)
      : socket_(socket),
        core_(core),
        places_(config.stores),
        period_(fine(config.period)),
        counts_(counts),
        ring_(std::bit_ceil(std::size_t{config.stores} + 1)),
        ring_mask_(ring_.size() - 1) {}

  /// Whether so many more stores have a place, and from when: `at` is put off until then.
  [[nodiscard]] bool room(std::uint32_t stores, Fine& at) const {
    if (next_ + stores <= places_) return true;
    const Number before = next_ + stores - 1 - places_;
    if (before >= drained_) return false;
    const Fine free = entry(before).commit;
    if (free > at) at = free;
    return true;
  }

  /// A store of the instruction at `position` of the reorder buffer.
  Number push(Kind kind, const Place& place, std::uint32_t size, std::uint64_t position);
  /// A store that finds the queue empty, and its line dirty in its core's L1: when it has retired
  /// it takes effect. As push(), ask(), set_data() and retired() would have it.
  void pass(const Access& access, Fine data, Fine retired) {
    Entry& store = entry(next_);
    store.data = data;
    remember(access.address, access.size, next_);
    last_commit_ = std::max({retired, last_commit_ + period_, ordered_at_, fine(socket_.now())});
    store.commit = last_commit_;
    unretired_ = drained_ = ++next_;
  }
  void set_data(Number number, Fine value) { entry(number).data = value; }
  /// Its address is known from `at` on, which may be in the future: asks for its line.
  void ask(Number number, Fine at) {
    const bool here = socket_.caches().quick(core_, entry(number).place, Hierarchy::Kind::store);
    asked(number, here, at);
  }
  /// The same, for a caller that has asked L1 already.
  void asked(Number number, bool here, Fine at);

  /// All stores of the instruction at `position` have retired.
  void retired(std::uint64_t position, Fine at) {
    if (unretired_ != next_ && entry(unretired_).position == position) retire_all(position, at);
  }

  /// The value a load of these bytes finds in the queue at `at`; false if it has to look in the
  /// caches. Bytes that only partly come from the store count as if they all did.
  bool forwards(std::uint64_t address, Fine at, Fine& value) const {
    const Latest& latest = latest_[granule(address) % latest_.size()];
    if (latest.granule != granule(address) || latest.number + ring_mask_ < next_) return false;
    const Entry& store = entry(latest.number);
    if (latest.number < drained_ && store.commit <= at) return false;
    value = store.data;
    return true;
  }

  /// A value that only its producer was known of is known now.
  void resolve(Number first, Number last, Fine value) {
    for (Number number = first; number != last; ++number) entry(number).data = value;
  }

  [[nodiscard]] bool empty() const { return drained_ == next_; }
  /// Nothing is on its way to the ADR domain either, nor in an open buffer.
  [[nodiscard]] bool quiet() const {
    return empty() && open_.empty() && nt_sent_ == 0 && unaccepted_ == 0;
  }
  [[nodiscard]] Fine last_commit() const { return last_commit_; }
  /// What follows the last fence begins no earlier.
  [[nodiscard]] Fine ordered_at() const { return ordered_at_; }
  [[nodiscard]] Number next() const { return next_; }

  // What the socket tells the core.
  void arrived(Waiter waiter, Tick now);
  void translated(Waiter waiter);
  void due(Waiter token, Tick now);
  void retry(Tick now);
  void nt_stored(Tick now);
  void flushed(Tick now);
  void flush_freed(Tick now);

 private:
  struct Entry {
    Place place;
    std::uint64_t position = 0;
    Fine data = 0;
    Fine retired = 0;
    Fine commit = 0;
    Fine line_at = 0;  ///< when the line is here, if it is
    std::uint32_t size = 0;
    Kind kind = Kind::store;
    bool asked = false;
    bool here = false;
    bool owns = false;  ///< all others have been asked to give the line up
  };
  struct Latest {
    std::uint64_t granule = ~std::uint64_t{0};
    Number number = 0;
  };
  /// A write-combining buffer that is being filled.
  struct Open {
    std::uint64_t line = 0;
    std::uint64_t bytes = 0;  ///< a bit for each that is there
  };

  static constexpr Waiter drain_token = is_mine | Waiter{1} << 30;

  [[nodiscard]] static std::uint64_t granule(std::uint64_t address) { return address >> 3; }
  void remember(std::uint64_t first, std::uint32_t size, Number number) {
    if (size == 0) return;
    for (std::uint64_t at = granule(first); at <= granule(first + size - 1); ++at) {
      latest_[at % latest_.size()] = {at, number};
    }
  }
  [[nodiscard]] Entry& entry(Number number) { return ring_[number & ring_mask_]; }
  [[nodiscard]] const Entry& entry(Number number) const { return ring_[number & ring_mask_]; }
  void retire_all(std::uint64_t position, Fine at);
  void access(Number number);
  [[nodiscard]] Number waiting(Waiter token) const;
  void drain();
  bool commit(Number number, Fine at);
  bool commit_store(Number number, Fine at);
  bool combine(const Entry& store, Fine at);
  void send(std::size_t open, Fine at);
  bool commit_flush(const Entry& flush, Fine at);
  bool commit_fence(const Entry& fence, Fine at);
  bool later(Fine at);

  Socket& socket_;
  Hierarchy::Core core_;
  std::uint64_t places_;
  Fine period_;
  CoreCounts& counts_;
  std::vector<Entry> ring_;
  Number ring_mask_;
  std::array<Latest, 512> latest_{};  ///< the last store to 8 bytes, by their address
  std::vector<Number> refused_;  ///< lines that could not be asked for
  std::vector<Open> open_;  ///< oldest first
  Number next_ = 0;
  Number unretired_ = 0;  ///< the first that has not retired
  Number drained_ = 0;  ///< the first that has not committed
  Fine last_commit_ = 0;
  Fine ordered_at_ = 0;
  std::uint32_t nt_sent_ = 0;
  std::uint32_t flushes_ = 0;  ///< flush buffers in use
  std::uint32_t unaccepted_ = 0;  ///< of their lines
  Tick drain_at_ = Tick::never();  ///< an event that will go on then
};

}  // namespace nearfar::sim::cpu
