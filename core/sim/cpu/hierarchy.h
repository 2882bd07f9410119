#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/counters.h"
#include "base/slab.h"
#include "sim/cpu/arriving.h"
#include "sim/cpu/cache.h"
#include "sim/cpu/prefetcher.h"
#include "sim/cpu/pretranslation.h"
#include "sim/cpu/tlb.h"
#include "sim/request.h"

namespace nearfar::sim::cpu {

/// Where an access goes: caches and memory know physical addresses, translation virtual ones.
struct Place {
  Address physical;
  Address virtual_address;
  bool huge = false;        ///< in a page of 2 MiB
  bool translated = false;  ///< known from an earlier time of asking: the TLBs are not asked
  /// Of a marked load: the address that it loads, which Pre-translation is to translate; 0: of any
  /// other.
  Address leads_to{};
};

/// The frame of 4 KiB that a page table has for an address, and whether the page that it is part of
/// has 2 MiB.
struct Translation {
  std::uint64_t frame = 0;
  bool huge = false;
};

/// The program's page of 4 KiB that an address lies in.
[[nodiscard]] inline std::uint64_t page_of(Address address) {
  return address.block(Tlb::small_page);
}

/// The line of an address whose page lies in that frame of 4 KiB.
[[nodiscard]] inline Line line_in(std::uint64_t frame, Address address) {
  return (frame * Tlb::small_page + address.value() % Tlb::small_page) / line_bytes;
}

/// The caches of a socket: L1D and L2 of each core, an L3 that all share, TLBs, prefetchers, and
/// the registers (MSHRs) in which misses wait for memory. It knows states, not data: a line is
/// clean or dirty, and where; no more than one place ever has it dirty.
///
/// It does not know the memory. What it needs from there it puts into transfers(), which its
/// owner (the request agent, a window core) sends whichever way its requests go:
///
///     answer = caches.access(core, address, Kind::load, id);
///     for (transfer : caches.transfers()) send(transfer);   caches.transfers().clear();
///     for (end : caches.ends()) call_after(end.delay, end.walk);   caches.ends().clear();
///     ...
///     caches.filled(transfer.miss, woken);  // a read is answered: `woken` are ids that waited
///     caches.written(transfer.core);        // a write was accepted
///     caches.walked(end.walk, woken);       // a walk is over: `woken` ask again, translated
///
/// After each of these there may be transfers and ends.
///
/// * L2 contains L1. A line from memory goes to L2 and L1; what L2 throws out goes to L3
///   (clean or dirty), and what L3 throws out dirty goes to memory. An L3 that is not inclusive
///   gives a line up when a core takes it, as Skylake's and its successors' does; an inclusive
///   one has every line, and takes it from the cores when it loses it.
/// * A line that a core stores to leaves every other core (MESI without the bus: E and S are
///   one state, told apart by looking). Asking the others takes as long as an L3 hit, whether
///   they have the line's data or give up a copy.
/// * A page that neither TLB knows is walked to by one of the core's walkers, or when one is free:
///   the walk reads the directory's entry, if it has to, and then the page's, through the caches
///   and, when they have not got it, from the memory that the tables lie in. An access that needs
///   the page meanwhile waits for the same walk. What a walk reads from memory needs no register:
///   there are no more of those than walkers.
class Hierarchy {
 public:
  enum class Kind : std::uint8_t { load, store };
  enum class Level : std::uint8_t { l1, l2, l3, memory };
  using Waiter = std::uint32_t;
  using Core = std::uint16_t;
  using Miss = std::uint32_t;
  using Walk = std::uint32_t;

  struct Answer {
    enum class State : std::uint8_t {
      hit,  ///< the data are there after `latency`; beyond L1, release() the L1's register then
      waits,  ///< the caller's id comes back from filled(); `latency`: translation so far
      walks,  ///< the caller's id comes back from walked(): then it asks again, translated
      full,  ///< no register is free; nothing has happened but the translation
    };
    State state = State::full;
    Level level = Level::l1;  ///< where it hit, or whose registers are all in use
    Tick latency{};
    bool asked = false;  ///< waits for a line that memory was asked for now
    /// Of a hit in L1 or L2: what of `latency` it waits for the line, which is on its way there
    /// from another level.
    Tick behind{};
    Level from = Level::l1;

    /// Where the data come from.
    [[nodiscard]] Level source() const { return behind == Tick{} ? level : from; }
  };

  /// A line to be read from memory, or written to it.
  struct Transfer {
    Line line = 0;
    Core core = 0;  ///< on whose behalf
    bool write = false;
    bool table = false;  ///< a walk's read
    Miss miss = 0;  ///< of a read
    Tick delay{};  ///< of a read: translation, before it can leave the core
    pretranslation::Marks marks = 0;
    std::uint8_t pointer_offset = 0;
  };

  /// An uncertain read that turned out to be right, and goes on, or not, and is over.
  struct Resolution {
    Miss miss = 0;
    bool right = false;
  };

  /// A walk that has all it needs and is over after `delay`.
  struct End {
    Walk walk = 0;
    Core core = 0;
    Tick delay{};
  };

  Hierarchy(const HierarchyConfig& config, std::uint64_t seed);

  /// Pre-translation and prefetchers ask the page tables of a core's program by it: nothing for an
  /// address without a page. Without it pages lie in memory as they do in the program.
  using Tables = std::function<std::optional<Translation>(Core core, Address address)>;
  void read_tables_by(Tables tables) { page_tables_ = std::move(tables); }

  /// A core's access to the line at `address`. A store asks for the line to write to; it is
  /// dirty only after commit().
  Answer access(Core core, const Place& place, Kind kind, Waiter waiter);
  /// In the model's pages, which lie in memory as they do in the program.
  Answer access(Core core, Address address, Kind kind, Waiter waiter, bool translated = false) {
    return access(core, Place{address, address, cores_[core].tlb.huge(), translated}, kind, waiter);
  }

  /// The way of most accesses: whether the line is in L1, and its page in the first-level TLB.
  /// If so that was an access, which took the L1's latency; if not, nothing has happened. For a
  /// store the line has to be the core's own and dirty: then the store may take effect, too.
  bool quick(Core core, const Place& place, Kind kind) {
    Private& at = cores_[core];
    const Line line = place.physical.value() / line_bytes;
    Remembered& remembered = at.remembered[line % std::size(at.remembered)];
    if (remembered.line != line || !at.l1.holds(remembered.slot, line)) {
      const Cache::Slot slot = at.l1.find(line);
      if (slot == Cache::none) return false;
      remembered = {line, slot};
    }
    if (!at.to_l1.empty() && at.to_l1.find(line) != nullptr) return false;
    if (kind == Kind::store && !at.l1.dirty(remembered.slot)) return false;
    if (!at.tlb.hit_first(place.virtual_address, place.huge)) return false;
    at.l1.use(remembered.slot);
    ++count_.tlb_hits;
    ++count_.l1_hits;
    ++(kind == Kind::load ? count_.loads : count_.stores);
    return true;
  }

  /// Whether a store of the core may take effect as things are: its line is dirty in its L1.
  [[nodiscard]] bool owned(Core core, Address address) const {
    const Private& at = cores_[core];
    const Line line = address.value() / line_bytes;
    const Remembered& remembered = at.remembered[line % std::size(at.remembered)];
    Cache::Slot slot = remembered.slot;
    if (remembered.line != line || !at.l1.holds(slot, line)) slot = at.l1.find(line);
    return slot != Cache::none && at.l1.dirty(slot);
  }

  /// Whether another core has the line, too: then a store has to ask for it first.
  [[nodiscard]] bool elsewhere(Core core, Address address) const {
    return elsewhere(core, address.value() / line_bytes);
  }

  /// A hit beyond L1 has brought its data.
  void release(Core core, Tick now) {
    --cores_[core].l1_misses;
    cores_[core].to_l1.remove_until(now);
  }
  /// For a caller with a clock, after access(): the line of a hit beyond L1 comes when that is
  /// answered, and the core's next accesses to it, which find it in L1, are answered no sooner.
  /// Nor are those that find a line in L2 which a prefetcher has asked L3 for.
  void follow(Core core, Address physical, Tick now, Answer& answer);
  /// With transfers(): what prefetchers have just asked L3 for comes after L3's latency.
  void date_prefetches(Tick now);

  /// Memory has answered a read; appends the waiting ids in order of their asking. `frame`: what it
  /// said of a marked read's pointer.
  void filled(Miss miss, std::vector<Waiter>& woken, std::uint64_t frame = no_frame);
  static constexpr std::uint64_t no_frame = ~std::uint64_t{0};

  /// Says that the access which was answered so is a marked load. Before its transfers are sent.
  void mark(Core core, const Place& place, const Answer& answer);

  /// A marked load has found its line in L1 by quick().
  void marked_hit(Core core, const Place& place) {
    if (pretranslation_) probe(core, place);
  }

  /// A walk is over; appends the ids that waited for it, in order of their asking.
  void walked(Walk walk, std::vector<Waiter>& woken);

  /// Gives up a read of an adjacent line; false if anything else asked for it.
  bool drop(Miss miss);

  /// Memory has accepted one of the core's writes.
  void written(Core core) { --cores_[core].writebacks; }

  /// A store takes effect. False if its line has left the core's caches since it came: then
  /// it has to be asked for again.
  bool commit(Core core, Address address);

  /// Cleans the line wherever it is, and removes it unless `keep`. True if it was dirty: then
  /// the caller writes it.
  bool flush(Address address, bool keep);

  /// Whether any cache has the line: where an uncached load would find it.
  [[nodiscard]] std::optional<Level> where(Core core, Address address) const;

  /// An access that takes no time and whose write-backs vanish: fills the caches before a
  /// measurement.
  void warm(Core core, Address address, Kind kind);

  /// What the core's TLBs know of a page is void, or of all pages that Tlb::forget_lower_half()
  /// means. No walk of the core should be under way.
  void forget_translation(Core core, Address address, bool huge) {
    cores_[core].tlb.forget(address, huge);
  }
  void forget_translations(Core core) { cores_[core].tlb.forget_lower_half(); }

  /// L3 has the line, clean, if no cache has it yet and L3 has room for it. Takes no time.
  void hold(Address address);

  [[nodiscard]] std::vector<Transfer>& transfers() { return transfers_; }
  [[nodiscard]] std::vector<End>& ends() { return ends_; }
  /// Uncertain reads whose translation is known, and what memory is to be told of pointers.
  [[nodiscard]] std::vector<Resolution>& resolutions() { return resolutions_; }
  [[nodiscard]] std::vector<PointerUpdate>& updates() { return updates_; }
  /// Ids whose data are here now that a walk is over.
  [[nodiscard]] std::vector<Waiter>& arrivals() { return arrivals_; }

  /// Where on the mesh what leaves for memory waits for its turn: a line that L3 throws out at its
  /// slice, the rest at its core. Slices come first, then cores.
  [[nodiscard]] std::uint16_t waits_at(Core core, Address address, bool eviction) const {
    return static_cast<std::uint16_t>(eviction ? l3_.slice_of(address.block(line_bytes))
                                               : l3_.slices() + core);
  }

  /// Latency of a hit, translation apart.
  [[nodiscard]] Tick latency(Level level) const;

  /// Cores that have made no access yet need no memory: they are made as they appear.
  void add_cores(std::size_t count);

  /// Counts begin at nought again.
  void forget_counts() {
    count_ = {};
    if (pretranslation_) pretranslation_->count = {};
  }
  void register_counters(Counters& counters) const;

  [[nodiscard]] const HierarchyConfig& config() const { return config_; }
  [[nodiscard]] const Cache& l1(Core core) const { return cores_[core].l1; }
  [[nodiscard]] const Cache& l2(Core core) const { return cores_[core].l2; }
  [[nodiscard]] const Cache& l3() const { return l3_; }

 private:
  /// Where in L1 a line was found last: saves the search, and is never believed.
  struct Remembered {
    Line line = ~Line{0};
    Cache::Slot slot = 0;
  };
  struct Private {
    Private(const HierarchyConfig& config, std::uint64_t seed)
        : l1(config.l1, seed),
          l2(config.l2, seed),
          tlb(config.tlb, seed),
          prefetcher(config.prefetch) {}
    Cache l1, l2;
    Tlb tlb;
    Prefetcher prefetcher;
    Remembered remembered[512];
    std::uint32_t l1_misses = 0;  ///< registers in use
    std::uint32_t l2_misses = 0;
    std::uint32_t writebacks = 0;  ///< sent and not accepted
    std::uint32_t walkers = 0;  ///< at work
    Arriving<Level> to_l1, to_l2;
    std::vector<Walk> walks;  ///< those that they work at and those that wait, oldest first
    std::uint64_t page = 0;  ///< last accessed: the program's page of 4 KiB
  };

  /// An access that waits for a line, and the registers that it takes until the line is there.
  struct Waiting {
    Core core = 0;
    bool demand = true;  ///< not a prefetch: goes into L1, and `waiter` is told
    bool table = false;  ///< for a walk, whose number is `waiter`: that goes on
    bool l1 = false;
    bool l2 = false;
    bool waits = true;  ///< not the adjacent line: that is dropped when memory is busy
    Waiter waiter = 0;
  };
  /// A read by an entry of the DIMM's is not found by others before that is checked.
  enum class Certainty : std::uint8_t { certain, unchecked, arrived_unchecked, wrong };
  struct Pending {
    Line line = 0;
    Certainty certainty = Certainty::certain;
    bool probe = false;  ///< of an entry alone
    Core core = 0;  ///< of a marked or unchecked one
    Line right_line = 0;  ///< of an unchecked one: as the page tables have it
    std::uint64_t frame = no_frame;  ///< of one that arrived unchecked
    MarkedPointer pointer{};  ///< of a marked read
    std::vector<Waiting> waiting{};
  };

  /// What a walk reads next of a table, for a page, and the accesses that wait for it.
  struct Walking {
    enum class Step : std::uint8_t { queued, directory, entry, over } step = Step::queued;
    bool huge = false;
    Core core = 0;
    Address page;
    Tick taken{};  ///< since it began, or since memory answered it
    std::vector<Waiter> waiting;
    bool demanded = true;  ///< an access has to wait for it
    std::vector<Miss> unchecked;  ///< reads by an entry that this walk checks
    std::vector<MarkedPointer> pointers;  ///< to the page, of which the DIMM did not know
  };

  /// A line that a prefetcher has asked L3 for.
  struct FromL3 {
    Core core = 0;
    Line line = 0;
    Tick delay{};
  };

  struct Count {
    std::uint64_t loads = 0, stores = 0;
    std::uint64_t l1_hits = 0, l2_hits = 0, l3_hits = 0, misses = 0, merged = 0;
    std::uint64_t upgrades = 0;  ///< stores that had to ask for a line that was here
    std::uint64_t writebacks = 0, flushes = 0;
    std::uint64_t prefetches = 0;
    std::uint64_t tlb_hits = 0, tlb2_hits = 0, walks = 0, walk_memory = 0;
  };

  // hierarchy_walks.cpp
  Answer wait_for_walk(Core core, const Place& place, Waiter waiter);
  Walk new_walk(Core core, Address page, bool huge);
  void begin_walk(Walk walk, Tick taken);
  void go_on(Walk walk);
  bool read_table(Walk walk, Line line);
  std::optional<Tick> table_in_caches(Core core, Line line);
  void table_from_memory(Core core, Line line);
  [[nodiscard]] Line memory_line(Line table) const;
  void warm_translation(Core core, Address address);

  // hierarchy_pretranslation.cpp
  Answer access_by_entry(Core core, const Place& place, Kind kind, Waiter waiter);
  Answer read_unchecked(Core core, const Place& place, Line line, Waiter waiter);
  [[nodiscard]] bool known_or_asked(Core core, Line line) const;
  void forget_pointer(Miss miss, std::uint64_t frame);
  void arrived_unchecked(Miss miss);
  void probe(Core core, const Place& place);
  bool filled_unchecked(Miss miss, std::uint64_t frame);
  void pointer_arrived(Core core, const MarkedPointer& pointer, std::uint64_t frame);
  void tell(Address pointer, std::uint64_t frame);
  Walk walk_ahead(Core core, Address address, bool huge);
  void check_by(Walk walk, std::vector<Waiter>& woken);
  void check_read(Miss miss, std::vector<Waiter>& woken);
  void give_up(Miss miss, std::vector<Waiter>& woken);
  void release_registers(const Pending& pending);
  [[nodiscard]] std::optional<Translation> translation(Core core, Address address) const;

  [[nodiscard]] bool elsewhere(Core core, Line line) const;
  Answer upgrade(Core core, Line line, Tick translation);
  Answer beyond_l1(Core core, Line line, Tick translation, Waiter waiter);
  Answer merge(Core core, Line line, Miss miss, Tick translation, Waiter waiter);
  Answer miss(Core core, Line line, Tick translation, Waiter waiter);
  void after_l1_miss(Core core, Line line, bool hit, Tick translation);
  std::optional<bool> from_socket(Core core, Line line);
  void prefetch(Core core, Line line, bool adjacent, Tick translation);
  void ask_memory(Line line, const Waiting& waiting, Tick delay);
  void install(Core core, Line line, bool dirty, bool to_l1);
  static void into_l1(Private& at, Line line);
  void into_l3(Core core, Line line, bool dirty);
  void leave_others(Core core, Line line);
  static bool remove_private(Private& at, Line line);
  static bool clean_private(Private& at, Line line);

  HierarchyConfig config_;
  std::uint64_t seed_;
  std::vector<Private> cores_;
  Cache l3_;
  Slab<Pending> pending_;
  std::unordered_map<Line, Miss> pending_of_;  ///< looked up, never walked
  Slab<Walking> walks_;
  std::vector<Transfer> transfers_;
  std::vector<End> ends_;
  std::vector<Line> wanted_;
  std::vector<FromL3> from_l3_;
  bool warming_ = false;
  std::unique_ptr<Pretranslation> pretranslation_;
  bool marked_by_entry_ = false;  ///< the access that was answered last
  Tables page_tables_;
  std::vector<Resolution> resolutions_;
  std::vector<PointerUpdate> updates_;
  std::vector<Waiter> arrivals_;
  Count count_;
};

}  // namespace nearfar::sim::cpu
