#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/archive.h"
#include "base/counters.h"
#include "base/event_queue.h"
#include "base/slab.h"
#include "sim/dram/channel.h"
#include "sim/nvdimm/config.h"
#include "sim/nvdimm/geometry.h"
#include "sim/nvdimm/indirection.h"
#include "sim/nvdimm/lazy_admission.h"
#include "sim/nvdimm/lazy_cache.h"
#include "sim/nvdimm/load_store_queue.h"
#include "sim/nvdimm/media.h"
#include "sim/nvdimm/middle_buffer.h"
#include "sim/nvdimm/page_reads.h"
#include "sim/nvdimm/power_budget.h"
#include "sim/nvdimm/pretranslation.h"
#include "sim/nvdimm/wear.h"
#include "sim/request.h"
#include "sim/sink.h"

namespace nearfar::sim::nvdimm {

/// One Optane-class DIMM, from its bus interface to its media.
///
/// A read looks in the load-store queue, then in the first buffer, the read-modify-write (RMW)
/// buffer. A miss takes an RMW slot and, of three levels, asks the middle buffer. What is not
/// there is translated: a hit in the address-indirection buffer costs a look-up, a miss, or no
/// such buffer, one access to the table in the on-DIMM DRAM. The data then come from that DRAM
/// if they are buffered there, else from the media, which reads a few blocks of one page at once:
/// an entry is filled whole, the block that is wanted first; of an entry smaller than a media
/// access only its own part is kept. Lines leave for the bus through lanes that the blocks share
/// out among them, one line at a time.
///
/// A write is gathered in the load-store queue to media blocks, passes through the RMW buffer,
/// is translated and goes to the media; the buffered copy in DRAM is updated. From leaving the
/// queue until it is on the media its entry is pinned in the RMW buffer, so the newest data of
/// a line is always found at the first of: load-store queue, RMW buffer, everything else. No
/// entry is ever thrown out with data that the media do not have.
///
/// With Pre-translation a marked read also looks up which frame its pointer leads to: in the RLB,
/// then by the page's translation in a table in the on-DIMM DRAM. The line waits for the answer.
///
/// When a block has worn enough it moves: its data are read, written elsewhere and the table
/// is changed, while everything for that block waits.
///
/// A Lazy cache, where there is one, stands between the load-store queue and the RMW buffer. What
/// it holds is newer than what lies behind it, writes on their way to the media included.
class Dimm {
 public:
  using ReadTag = std::uint32_t;

  /// A read that has its data ready at the bus interface.
  struct Reply {
    Tick time;
    ReadTag tag;
    DataHandle data;
    std::uint64_t frame = no_frame;  ///< of a marked read: where its pointer leads, if known
  };
  static constexpr std::uint64_t no_frame = ~std::uint64_t{0};

  Dimm(const Config& config, std::uint8_t channel, dram::CommandLog* log);

  /// A read command arrives at `at`, not before the last advance.
  void read(ReadTag tag, Address device, Tick at);

  /// A read of the line that holds a pointer, and of where that leads; without `line` of the latter
  /// alone. `pointer` is its very address.
  void read_pointer(ReadTag tag, Address pointer, bool line, Tick at);
  /// Where the pointer leads, as the processor says; arrives at `at`.
  void learn(Address pointer, std::uint64_t frame, Tick at);
  [[nodiscard]] bool pretranslates() const { return pretranslation_ != nullptr; }

  /// A read that finds its line in the RMW buffer when nothing else is under way. Its data are at
  /// the bus interface at `ready`.
  struct Hit {
    Tick ready = Tick::never();
    std::uint32_t slot = 0;
    std::uint32_t sector = 0;
    std::uint32_t line = 0;  ///< of the sector
    std::uint32_t lane = 0;

    explicit operator bool() const { return !ready.is_never(); }
  };
  /// What a read that arrives at `at` would be; false when it is not as simple as that.
  [[nodiscard]] Hit hit(Address device, Tick at) const;
  /// Makes that read happen, if nothing else does before `hit.ready`; its data.
  DataHandle take(const Hit& hit, Tick at);

  /// Whether the interface may send one more write, counting those still on the bus.
  [[nodiscard]] bool has_write_room() const { return writes_announced_ < config_.lsq.lines; }
  /// A write's data arrive at `at`. Precondition: has_write_room().
  void write(const Request& request, Address device, Tick at);

  /// An mfence behind everything announced so far and `to_come` writes more.
  void fence(std::uint32_t to_come, Tick now);

  [[nodiscard]] Tick next_event() const { return next_; }
  /// Plays everything up to `until`, or up to the first instant that brings a reply or a media
  /// notice, which are appended in time order. Returns the last instant played.
  Tick advance(Tick until, std::vector<Reply>& replies, Sink& notices);

  /// The newest data of a line that has arrived: from the load-store queue, the Lazy cache, a group
  /// on its way into the RMW buffer, the RMW buffer, or the media, wherever the line lies on them.
  [[nodiscard]] DataHandle durable(Address device) const;

  [[nodiscard]] bool reads_pending() const { return reads_.in_use() != 0; }
  /// Whether a requester still has to be told that a write is on the media.
  [[nodiscard]] bool notices_pending() const { return notices_owed_ != 0; }
  /// As Device's.
  void settle(Tick now) {
    dram_.settle(now);
    settled_ = now;
  }
  void register_counters(Counters& counters, const std::string& prefix) const;
  void state(Archive& archive);

  [[nodiscard]] const WearLeveler& wear() const { return wear_; }
  void forget_moves() { wear_.forget_moves(); }

 private:
  using Index = std::uint32_t;
  using Slot = BlockTable::Slot;
  static constexpr Index none = ~Index{0};
  static constexpr std::uint64_t posted = std::uint64_t{1} << 63;  ///< a DRAM write's id
  /// Marks the id of a table read: the rest is the indirection buffer's slot or, where there is no
  /// such buffer, the transfer that waits. Without it, and unless no read waits (posted), the id is
  /// a transfer and a line of what it moves.
  static constexpr std::uint64_t table_flag = std::uint64_t{1} << 62;
  /// With that one: the rest is a look-up of a pointer; with this one too, of its page's part.
  static constexpr std::uint64_t pointer_flag = std::uint64_t{1} << 61;
  static constexpr std::uint64_t part_flag = std::uint64_t{1} << 60;

  struct Read {
    ReadTag tag = 0;
    Index next = none;  ///< among those that wait for one sector
    Address line;
    DataHandle data = 0;
    std::uint64_t frame = no_frame;
    bool marked = false;
    bool looking = false;  ///< for the frame
    bool left = false;  ///< but for that

    void state(Archive& archive) { archive(tag, next, line, data, frame, marked, looking, left); }
  };

  /// A sector of an RMW slot.
  struct Sector {
    std::uint64_t ready = 0;  ///< lines that can be read now
    Tick complete = Tick::never();  ///< when all of it is there, once that is known
    std::uint32_t wanted = 0;  ///< the line that was asked for first
    std::uint32_t busy = 0;  ///< transfers of it under way; each pins the slot
    Index first_waiting = none;  ///< reads of lines whose time is not known, in order
    Index last_waiting = none;

    /// Neither here nor on its way: its neighbours were written, it was not.
    [[nodiscard]] bool absent() const { return ready == 0 && busy == 0; }
  };

  /// Something under way between the buffers and what lies behind them.
  struct Transfer {
    enum class Kind : std::uint8_t {
      fetch,  ///< of a sector of the RMW buffer
      fetch_middle,  ///< of a sector of the middle buffer
      write,  ///< of a block
      fill,  ///< of a block of a page in the on-DIMM DRAM
    } kind = Kind::fetch;
    Address at;
    Index into = none;  ///< the sector that is fetched, or what is written
    Slot page = BlockTable::none;  ///< where its data lie in the on-DIMM DRAM
    Index next = none;  ///< of the sectors that come with one translation, then of its page's
    Index place = none;  ///< of its page, among those that are read
    std::uint64_t lines_left = 0;  ///< DRAM bursts outstanding, one bit a line

    void state(Archive& archive) { archive(kind, at, into, page, next, place, lines_left); }
  };

  /// A group of the load-store queue on its way to the media.
  struct Write {
    struct Part {
      Index sector;
      Slot middle;
    };
    WriteGroup group;
    std::uint32_t announced = 0;  ///< lines for which the queue keeps room until it is written
    Index sectors_seen = 0;  ///< of its block, before one that found no slot
    bool whole = true;  ///< nothing of the block has to come from the media
    std::vector<Part> parts;  ///< sectors with lines of it, pinned

    void state(Archive& archive) { archive(group, announced, sectors_seen, whole, parts); }
  };

  struct Event {
    enum class Kind : std::uint8_t {
      read_arrives,
      write_arrives,
      respond,
      translate,
      read_table,
      read_buffered,
      fetched,
      handed_over,
      filled,
      written,
      migrated,
      look_up_pointer,
      find_part,
      read_part,
      learned,
      drain,
      absorbed,  ///< by the Lazy cache; `index` is a number of lines
      lazy_aged
    } kind;
    Index index;

    void state(Archive& archive) { archive(kind, index); }
  };

  struct Arrival {
    Request request;
    Address device;

    void state(Archive& archive) { archive(request, device); }
  };

  struct Stalled {
    bool write;
    Index index;

    void state(Archive& archive) { archive(write, index); }
  };

  [[nodiscard]] Address sector_address(Index sector) const {
    return geometry_.sector_address(rmw_.block(geometry_.slot_of(sector)), sector);
  }
  [[nodiscard]] std::size_t lane_of(Address at) const {
    return (geometry_.block_of(at) + geometry_.page_of(at)) % lane_free_.size();
  }

  // Reads
  void read_arrives(Index read, Tick now);
  bool look_up(Index read, Tick now);
  Slot claim(Address at);
  void serve(Index read, Index sector, Tick now);
  void serve_waiting(Index sector, Tick now);
  void wait(Index read, Sector& sector);
  void respond(Index read, Tick at) { events_.push(at, {Event::Kind::respond, read}); }
  void leave(Index read, Tick now, std::vector<Reply>& replies);

  // Writes
  void write_arrives(Index arrival, Tick now);
  void drain(Tick now);
  void send(Index write, Tick now);
  bool start_write(Index write, Tick now);
  void write_sector(Write& write, Slot slot, Address at, std::uint64_t lines, Tick now);
  bool written_part(const Write::Part& part, Tick now);
  void store_content(const Write& write);
  void written(Index transfer, Tick now);
  void notify(const WriteGroup& group, Tick now);

  // Translation and what lies behind it
  void translate(Index transfer, Tick now);
  void translated(Index transfer, Tick now);
  void table_arrived(Index waiting, Tick now);
  void fetch(Slot slot, Address at, Tick now);
  Index fetch_sector(Index sector, Address at);
  void fetch_others(Index head);
  void ask(Index transfer, Tick now);
  void read_media(Index transfer, Tick now);
  void look_when_handed_over(Index place);
  void handed_over(Index place, Tick now);
  void fetch_from_dram(Index transfer, Tick now);
  void dram_line_arrived(Index transfer, std::uint32_t line, Tick now);
  void media_started(const Media::Started& started, Tick now);
  void fetched(Index transfer, Tick now);
  void complete_at(Index sector, Tick at);
  void settle(Index sector);
  void keep_in_dram(Address at, std::uint64_t lines, bool new_block, Tick now);
  void fill_page(Address at, Tick now);
  void retry_stalled(Tick now);

  // Pre-translation, where there is any
  void handle_pointer(const Event& event, Tick now);
  void look_up_pointer(Index look_up, Tick now);
  void find_part(Index look_up, Tick now);
  void read_part(Index look_up, Tick now);
  void part_known(std::uint64_t page, Tick now);
  void pointer_arrived(std::uint64_t id, Tick now);
  void looked_up(Index look_up, std::uint64_t frame, Tick now);
  bool held_back(Index read);
  /// Reads that are not marked rely on it.
  static void forget_marks(Read& read) {
    read.frame = no_frame;
    read.marked = read.left = false;
  }
  void keep_pointer(const PointerBuffer::Leaving& leaving, Tick now);

  // The middle buffer, where there is one
  bool claim_middle(Address at);
  void fetch_through_middle(Slot slot, Address at, Tick now);
  void fetch_middle(Slot home, Address at, Tick looked_up);
  void middle_complete_at(Index sector, Tick at);
  void middle_arrived(Index sector);
  void filled(Index sector, Tick now);

  // Wear
  void count_wear(Address block, std::uint64_t lines, Tick now);
  void migrate(const WearLeveler::Migration& migration, Tick now);
  void move_content(Address from, Address to);

  // The Lazy cache, where there is one: kept out of line, for most DIMMs have none
  [[nodiscard, gnu::noinline]] bool lazy_holds(Address line) const { return lazy_->holds(line); }
  [[nodiscard, gnu::noinline]] bool absorbs_oldest() const;
  [[gnu::noinline]] void absorb(Write& write, Tick now);
  [[gnu::noinline]] bool lazy_serves(Index read, Tick now);
  void admit(Address block, std::uint64_t lines, Tick now);
  void take_over(Address line);
  void write_back(const LazyCache::Gone& gone, Tick now);
  void watch_age(Index slot);
  void draw_lazy(std::uint64_t accesses_before, Tick now) {
    media_.budget().draw((lazy_->accesses() - accesses_before) * lazy_power_, now);
  }
  void lazy_aged(Index slot, Tick now);

  // Energy
  void draw_lines(std::uint64_t lines, Tick now) { media_.budget().draw(lines * line_power_, now); }
  [[nodiscard]] std::uint64_t sram_pj() const;
  [[nodiscard]] std::uint64_t idle_pj() const;

  // On-DIMM DRAM
  void dram_send(std::uint64_t id, Address address, Op op, Tick now);
  void dram_completions(Tick now);

  // Data
  void load_data(Index sector);
  [[nodiscard]] DataHandle behind_lazy(Address device) const;
  [[nodiscard]] DataHandle& rmw_data(Index sector, std::uint32_t line) {
    return rmw_data_[std::size_t{sector} * geometry_.lines_per_sector() + line];
  }

  void handle(const Event& event, Tick now, std::vector<Reply>& replies);
  void schedule(Tick at, Event event) {
    events_.push(at, event);
    next_ = min(next_, at);
  }
  void find_next();

  Config config_;
  Geometry geometry_;
  Tick ait_latency_{};

  LoadStoreQueue lsq_;
  BlockTable rmw_;
  std::vector<Sector> sectors_;
  std::vector<DataHandle> rmw_data_;
  std::vector<Tick> lane_free_;
  std::optional<MiddleBuffer> middle_;
  IndirectionTable table_;
  std::optional<IndirectionBuffer> ait_;
  WearLeveler wear_;
  std::optional<LazyCache> lazy_;
  std::optional<LazyAdmission> admission_;
  Tick line_power_{};  ///< what a line in SRAM takes out of the budget
  Tick lazy_power_{};  ///< what an access to the Lazy cache does
  Tick dram_power_{};  ///< what an access to the DRAM does, at most
  PageReads page_reads_;
  Media media_;
  std::unique_ptr<Pretranslation> pretranslation_;
  dram::Channel dram_;

  EventQueue<Event> events_;
  Tick next_ = Tick::never();  ///< of everything inside; exact between calls
  Tick dram_next_ = Tick::never();  ///< dram_.next_event(), asked for when it can have changed
  Slab<Read> reads_;
  Slab<Transfer> transfers_;
  Slab<Write> writes_;
  Slab<Arrival> arrivals_;
  std::deque<Stalled> stalled_;  ///< found every RMW slot of their set pinned
  std::deque<Index> untranslated_;  ///< transfers that found every AIT way of their set pending
  std::deque<Request> dram_backlog_;
  std::uint32_t writes_announced_ = 0;  ///< lines not yet written that the queue has room for
  std::uint32_t writes_under_way_ = 0;
  std::uint32_t writes_on_bus_ = 0;
  std::uint32_t notices_owed_ = 0;
  std::uint32_t fenced_writes_ = 0;  ///< still to arrive of those before the last fence

  // Scratch, kept to avoid allocation.
  Sink dram_sink_;
  std::vector<Media::Started> started_;
  std::vector<IndirectionBuffer::Waiter> woken_;
  Sink* notices_ = nullptr;

  bool data_in_use_ = false;
  std::unordered_map<std::uint64_t, DataHandle> content_;  ///< media line -> data; never iterated

  std::uint64_t read_lines_ = 0;
  std::uint64_t write_lines_ = 0;
  std::uint64_t lsq_forwards_ = 0;
  std::uint64_t rmw_hits_ = 0;
  std::uint64_t rmw_misses_ = 0;
  std::uint64_t merges_ = 0;
  std::uint64_t media_writes_ = 0;
  std::uint64_t minor_stalls_ = 0;
  std::uint64_t table_reads_ = 0;
  std::uint64_t table_writes_ = 0;
  Tick settled_{};
};

}  // namespace nearfar::sim::nvdimm
