#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/counters.h"
#include "base/event_queue.h"
#include "base/slab.h"
#include "sim/dram/channel.h"
#include "sim/nvdimm/config.h"
#include "sim/nvdimm/indirection.h"
#include "sim/nvdimm/load_store_queue.h"
#include "sim/nvdimm/media.h"
#include "sim/nvdimm/wear.h"
#include "sim/request.h"

namespace nearfar::sim::nvdimm {

/// One Optane-class DIMM, from its bus interface to its media.
///
/// A read looks in the load-store queue, then in the read-modify-write (RMW) buffer. A miss
/// takes an RMW slot and asks the address-indirection buffer for the page's place: a hit
/// there costs a look-up, a miss one access to the table in the on-DIMM DRAM. The block then
/// comes from that DRAM if it is buffered there, else from the media. Lines leave for the bus
/// through lanes that the pages share out among them, one line at a time.
///
/// A write is gathered in the load-store queue, passes through the RMW buffer, is translated
/// and goes to the media; the buffered copy in DRAM is updated. From leaving the queue until
/// it is on the media its block is pinned in the RMW buffer, so the newest data of a line is
/// always found at the first of: load-store queue, RMW buffer, DRAM and media.
///
/// When a block has worn enough it moves: its data are read, written elsewhere and the table
/// is changed, while everything for that block waits.
class Dimm {
 public:
  using ReadTag = std::uint32_t;

  /// A read that has its data ready at the bus interface.
  struct Reply {
    Tick time;
    ReadTag tag;
    DataHandle data;
  };

  Dimm(const Config& config, std::uint8_t channel, dram::CommandLog* log);

  /// A read command arrives at `at`, not before the last advance.
  void read(ReadTag tag, Address device, Tick at);

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

  [[nodiscard]] bool reads_pending() const { return reads_.in_use() != 0; }
  /// Whether somebody still has to be told that a write is on the media.
  [[nodiscard]] bool notices_pending() const { return notices_owed_ != 0; }
  void register_counters(Counters& counters, const std::string& prefix) const;

  [[nodiscard]] const WearLeveler& wear() const { return wear_; }

 private:
  using Index = std::uint32_t;
  using Slot = BlockTable::Slot;
  static constexpr Index none = ~Index{0};
  static constexpr std::uint64_t posted = std::uint64_t{1} << 63;  ///< a DRAM write's id

  struct Read {
    ReadTag tag = 0;
    std::uint64_t block = 0;
    std::uint32_t line = 0;
    Index next = none;  ///< among those that wait for one RMW slot
    DataHandle data = 0;
  };

  /// The state of an RMW slot besides the directory's.
  struct RmwEntry {
    std::uint64_t ready = 0;  ///< lines that can be read now
    std::uint32_t wanted = 0;  ///< the line that was asked for first
    Tick complete = Tick::never();  ///< when the block is there, once that is known
    Index first_waiting = none;  ///< reads of lines whose time is not known, in order
    Index last_waiting = none;
  };

  /// A block under way between the RMW buffer and what lies behind it.
  struct Transfer {
    enum class Kind : std::uint8_t { fetch, write, fill } kind = Kind::fetch;
    std::uint64_t block = 0;
    Slot rmw = BlockTable::none;
    Slot page = BlockTable::none;  ///< where its data lie in the on-DIMM DRAM
    std::uint64_t lines_left = 0;  ///< DRAM bursts outstanding, one bit a line
    Index group = none;            ///< of a write
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
      written,
      unlock,
      drain
    } kind;
    Index index;
  };

  struct Arrival {
    Request request;
    Address device;
  };

  struct Migration {
    std::uint64_t wear_block;
    std::vector<Index> waiting;
  };

  struct Stalled {
    bool write;
    Index index;
  };

  // Addresses
  [[nodiscard]] std::uint64_t page_of(std::uint64_t block) const {
    return block / blocks_per_page_;
  }
  [[nodiscard]] Address device_address(std::uint64_t block) const {
    return Address(block * config_.rmw.entry);
  }
  [[nodiscard]] Address media_address(std::uint64_t block) const {
    return wear_.translate(device_address(block));
  }

  // Reads
  void read_arrives(Index read, Tick now);
  bool look_up(Index read, Tick now);
  void serve(Index read, Slot slot, Tick now);
  void serve_waiting(Slot slot, Tick now);
  void wait(Index read, RmwEntry& entry);
  void respond(Index read, Tick at) { events_.push(at, {Event::Kind::respond, read}); }
  void leave(Index read, Tick now, std::vector<Reply>& replies);

  // Writes
  void write_arrives(Index arrival, Tick now);
  void drain(Tick now);
  bool start_write(Index group, Tick now);
  void written(Index transfer, Tick now);
  void notify(const WriteGroup& group, Tick now);

  // Translation and what lies behind it
  void translate(Index transfer, Tick now);
  void translated(Index transfer, Tick now);
  void table_arrived(Slot slot, Tick now);
  void fetch_from_dram(Index transfer, Tick now);
  void dram_line_arrived(Index transfer, std::uint32_t line, Tick now);
  void media_started(const Media::Started& started);
  void fetched(Index transfer, Tick now);
  void keep_in_dram(std::uint64_t block, std::uint64_t lines, bool new_block, Tick now);
  void fill_page(std::uint64_t block, Tick now);
  void release(Slot slot, Tick now);
  void retry_stalled(Tick now);

  // Wear
  void count_wear(std::uint64_t block, Tick now);
  void migrate(std::uint64_t block, Tick now);
  bool wait_for_migration(Index transfer);
  void unlock(Index migration, Tick now);
  void move_content(Address from, Address to);

  // On-DIMM DRAM
  void dram_send(std::uint64_t id, Address address, Op op, Tick now);
  void dram_completions(Tick now);

  // Data
  void load_block(Slot slot, std::uint64_t block, std::uint64_t except_lines);
  [[nodiscard]] DataHandle& rmw_data(Slot slot, std::uint32_t line) {
    return rmw_data_[slot * lines_per_block_ + line];
  }

  void handle(const Event& event, Tick now, std::vector<Reply>& replies);
  void schedule(Tick at, Event event) {
    events_.push(at, event);
    next_ = min(next_, at);
  }
  void find_next();

  Config config_;
  std::uint32_t lines_per_block_;
  std::uint32_t blocks_per_page_;
  std::uint64_t all_lines_;

  LoadStoreQueue lsq_;
  BlockTable rmw_;
  std::vector<RmwEntry> rmw_entries_;
  std::vector<DataHandle> rmw_data_;
  std::vector<Tick> lane_free_;
  IndirectionBuffer ait_;
  WearLeveler wear_;
  Media media_;
  dram::Channel dram_;

  EventQueue<Event> events_;
  Tick next_ = Tick::never();       ///< of everything inside; exact between calls
  Tick dram_next_ = Tick::never();  ///< dram_.next_event(), asked for when it can have changed
  Slab<Read> reads_;
  Slab<Transfer> transfers_;
  Slab<WriteGroup> groups_;
  Slab<Arrival> arrivals_;
  std::deque<Stalled> stalled_;  ///< found every RMW slot of their set pinned
  std::deque<Index> untranslated_;  ///< transfers that found every AIT way of their set pending
  Slab<Migration> migrations_;
  std::vector<Index> migrating_;
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
  std::uint64_t migrations_done_ = 0;
  std::uint64_t minor_stalls_ = 0;
  std::uint64_t table_reads_ = 0;
  std::uint64_t table_writes_ = 0;
};

}  // namespace nearfar::sim::nvdimm
