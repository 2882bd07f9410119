#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/event_lanes.h"
#include "base/slab.h"
#include "sim/device.h"
#include "sim/imc/near_config.h"
#include "sim/imc/near_counters.h"
#include "sim/imc/near_directory.h"
#include "sim/outlet.h"
#include "sim/waiting_ports.h"

namespace nearfar::sim::imc {

/// DRAM as a cache in front of a far memory, run by the memory controller: Memory Mode.
///
/// The address space is that of the far memory. Its last `app_direct` bytes bypass the cache;
/// everything else is served by near memory. Every access that this takes is made on the near
/// DRAM or the far memory as a request of its own, so its time, its bus and its refresh are
/// those of real commands:
///
///     look-up       tags in ECC bits: one read of each way's block, the data come along;
///                   tags in data: one read of each line of tags
///     read hit      look-up (tags in data: and a read)
///     write hit     look-up, write
///     read miss     look-up, a fill write for each block of the line, fetched from far memory
///     write miss    look-up, a claim, which writes the new tag, and the write; lines longer
///                   than the block written have their other blocks fetched and filled
///     dirty victim  written to far memory; the look-up has read the block that was asked for,
///                   any others are read first
///     tags in data  a write of the tag where a line comes in or becomes dirty
///
/// A write is done when the controller has taken it. Nothing in near memory survives a loss of
/// power: `tell_media` reports the write to the near DRAM, or with write-through that to far
/// memory. In App Direct both mean what they mean without near memory.
///
/// Order: what concerns one set is worked on in order of arrival, hits on different blocks
/// side by side; a hit on a block being written, and everything behind a miss in its set,
/// waits. So a read returns what was last written, whatever happens to the line meanwhile. A
/// request holds its place until all its accesses are made or taken, write-backs included:
/// that is what bounds how far the near memory runs ahead of the far one.
class NearMemory final : public Device {
 public:
  /// Throws InputError when the configuration does not fit the memories.
  NearMemory(const NearConfig& config, std::unique_ptr<Device> near, std::unique_ptr<Device> far);

  Accept try_send(const Request& request, Tick now) override;
  void fence(Tick now) override;
  [[nodiscard]] Tick next_event() const override {
    return min(min(near_->next_event(), far_next_), events_.next());
  }
  void advance(Tick until, Sink& sink) override;
  Tick advance_to_completion(Tick until, Sink& sink) override;
  [[nodiscard]] Bytes capacity() const override { return far_->capacity(); }
  [[nodiscard]] bool idle() const override;
  /// Those of the near channels come first, then those of the far memory's, if not cached.
  [[nodiscard]] std::uint32_t queue_of(Address address) const override;
  [[nodiscard]] std::uint32_t queues() const override {
    return near_queues() + (config_.app_direct > 0 ? far_->queues() : 0);
  }
  void settle(Tick now) override;
  /// What is cached is volatile, and so is far memory behind it, in an unknown version.
  [[nodiscard]] DataHandle durable(Address line) const override {
    return line.value() < cached_bytes_ ? 0 : far_->durable(line);
  }
  void register_counters(Counters& counters) const override;
  void state(Archive& archive) override;

 private:
  using Index = std::uint32_t;
  static constexpr Index no_flight = ~Index{0};

  /// What an access that is out there was for; together with its flight, this is its id.
  enum class Role : std::uint8_t {
    probe,  ///< near read: a way's block with its tag, or a line of tags
    data,  ///< near read of what the tags in data promised
    victim,  ///< near read of a block to be written back
    fetch,  ///< far read
    fill,  ///< near write of what was fetched
    claim,  ///< near write of the tag of a line that a write brings in
    update,  ///< near write of a line of tags
    write,  ///< near write of the caller's data
    write_back,  ///< far write of a victim's block
    through,  ///< far write of the caller's data
    direct,  ///< far access: the caller's, past near memory
  };
  struct Tag {
    Role role;
    std::uint8_t block;  ///< of the line
    Index flight;
    Index notice;  ///< the requester to tell that the data have arrived, if any

    [[nodiscard]] std::uint64_t id() const {
      return static_cast<std::uint64_t>(role) | std::uint64_t{block} << 8 |
             std::uint64_t{flight} << 16 | std::uint64_t{notice} << 40;
    }
    [[nodiscard]] static Tag of(std::uint64_t id) {
      constexpr std::uint64_t index = 0xffffff;
      return {static_cast<Role>(id & 0xff), static_cast<std::uint8_t>(id >> 8),
              static_cast<Index>(id >> 16 & index), static_cast<Index>(id >> 40)};
    }
  };
  struct Purpose {
    Op op;
    bool far;  ///< an access to far memory
    bool awaited;  ///< the request waits until the data are where they go, not until it is taken
    std::uint64_t NearCounters::* counter;
  };
  /// What happens here, each kind in time order; the payload is a flight, or a gate.
  enum Lane : std::size_t { accepted, was_looked_up, hold_lapsed, lanes };
  enum class Case : std::uint8_t { waiting, read_hit, write_hit, read_miss, write_miss, direct };

  /// A request that was taken, or a line on its way in by prefetch.
  struct Flight {
    Request request;
    Tick sent{};
    std::uint64_t line = 0;
    std::uint64_t set = 0;
    std::uint64_t victim_line = 0;
    std::uint64_t victim_blocks = 0;  ///< those to write back
    std::uint64_t ready = 0;  ///< blocks to fill or claim once victims have been read
    Index next = no_flight;  ///< in its chain
    std::uint32_t pending = 0;  ///< accesses and delays it waits for
    std::uint32_t probes = 0;  ///< of those, reads of the look-up
    std::uint32_t victims = 0;  ///< and reads of victims
    std::uint32_t gate = 0;
    std::uint32_t way = 0;
    std::uint8_t block = 0;
    Case outcome = Case::waiting;
    bool prefetch = false;
    bool tag_changes = false;  ///< with tags in data: one more write

    void state(Archive& archive) {
      archive(request, sent, line, set, victim_line, victim_blocks, ready, next, pending, probes,
              victims, gate, way, block, outcome, prefetch, tag_changes);
    }
  };
  struct Gate {
    std::uint32_t used = 0;
    std::uint32_t size = 0;
    WaitingPorts waiting;

    void state(Archive& archive) { archive(used, size, waiting); }
  };
  struct Notice {
    std::uint64_t id;
    Address address;
    DataHandle data;
  };

  // near_memory.cpp: the outside, time and places.
  [[nodiscard]] std::uint32_t near_queues() const {
    return static_cast<std::uint32_t>(gates_.size() / 2);
  }
  [[nodiscard]] bool cached(Address address) const { return address.value() < cached_bytes_; }
  /// The set's, which is where its first line is.
  [[nodiscard]] std::uint32_t near_channel(std::uint64_t set) const {
    return near_->queue_of(Address(set * config_.line * config_.ways)) / config_.subchannels;
  }
  Accept send_direct(const Request& request, Tick now);
  Accept refuse(std::uint32_t gate, std::uint16_t port, Tick now);
  Tick run(Tick until, Sink& sink, bool to_completion);
  void hit(Index index, Tick now, Sink& sink);
  [[nodiscard]] bool probed_alone(const Completion& completion, Tick until) const;
  void handle(std::size_t lane, Index index, Tick now, Sink& sink);
  void wake_waiting(std::uint32_t gate, Tick now, Sink& sink);
  void from_near(const Completion& completion, Tick now, Sink& sink);
  void from_far(const Completion& completion, Tick now, Sink& sink);
  void finish_direct(Index index, const Completion& completion, Sink& sink);
  void tell_arrival(Index notice, Tick now, Sink& sink);
  /// The memory has taken what it had refused before.
  void taken_late(const Request& request, Tick now, Sink& sink);

  // near_order.cpp: which flight may work on a set. Most requests find their chain empty and leave
  // it so.
  void enter(Index index, Tick now) {
    Flight& flight = flights_[index];
    flight.next = no_flight;
    Index& first = chain_of(flight.set);
    if (first != no_flight) return enter_behind(index, now);
    first = index;
    start(index, directory_.find(flight.line, flight.set), now);
  }
  void enter_behind(Index index, Tick now);
  [[nodiscard]] bool try_start(Index index, Tick now);
  void leave(Index index, Tick now) {
    const Flight& flight = flights_[index];
    Index& first = chain_of(flight.set);
    if (first != index || flight.next != no_flight) return leave_others(index, now);
    first = no_flight;
  }
  void leave_others(Index index, Tick now);
  [[nodiscard]] Index& chain_of(std::uint64_t set) {
    return chains_[set * 0x9e3779b97f4a7c15u >> chain_shift_];
  }

  // near_access.cpp: what a request does.
  void start(Index index, std::uint32_t way, Tick now);
  void replace(Flight& flight);
  void count(const Flight& flight);
  void probed(Index index, Tick now, Sink& sink);
  void looked_up(Index index, Tick now, Sink& sink);
  void miss(Index index, Tick now);
  void fetch(Index index, Tick now);
  void write_victim(Index index, std::uint32_t block, Tick now);
  void arrived(Index index, std::uint32_t block, DataHandle data, Tick now, Sink& sink);
  void fill(Index index, Tick now);
  void write(Index index, Tick now);
  void prefetch_after(std::uint64_t line, Tick now);
  [[gnu::always_inline]] void answer(Index index, DataHandle data, Tick now, Sink& sink) {
    const Flight& flight = flights_[index];
    counters_.read_time_ps += (now - flight.sent).ps();
    sink.push_back({now, flight.request.id, flight.request.address, Completion::Kind::done, data});
  }
  [[nodiscard]] static const Purpose& purpose_of(Role role);
  void send(Role role, Index index, std::uint32_t block, Address address, Tick now,
            DataHandle data = 0, Index notice = 0);
  /// One of the things that the request waited for has come; after the last it is finished.
  void over(Index index, Tick now, Sink& sink);
  void store(std::uint64_t line, std::uint32_t block, DataHandle data);
  [[nodiscard]] DataHandle stored(std::uint64_t line, std::uint32_t block) const {
    return data_in_use_ ? content_of(line, block) : 0;
  }
  [[nodiscard]] DataHandle content_of(std::uint64_t line, std::uint32_t block) const;
  [[nodiscard]] Address near_address(const Flight& flight, std::uint32_t way,
                                     std::uint32_t block) const;
  [[nodiscard]] Address far_address(std::uint64_t line, std::uint32_t block) const;
  [[nodiscard]] Address tags_address(const Flight& flight, std::uint32_t line) const;

  NearConfig config_;
  std::unique_ptr<Device> near_;
  std::unique_ptr<Device> far_;
  Bytes cached_bytes_ = 0;
  std::uint32_t blocks_ = 1;  ///< of a line
  std::uint32_t tag_lines_ = 0;  ///< lines of tags of a set; 0: tags come with the data
  NearDirectory directory_;
  Outlet to_near_;
  Outlet to_far_;
  EventLanes<Index, lanes> events_;
  Tick far_next_{};  ///< the far memory's next event, asked for after whatever may change it
  Slab<Flight> flights_;
  Slab<Notice> notices_;
  std::vector<Gate> gates_;  ///< two a near channel: of reads, of writes
  std::vector<Index> chains_;  ///< flights by set, in order of arrival
  std::uint32_t chain_shift_ = 0;
  std::uint32_t prefetches_ = 0;  ///< on their way
  std::uint32_t most_prefetches_ = 0;
  bool data_in_use_ = false;
  /// What near memory holds, by block of the far memory; never iterated.
  std::unordered_map<std::uint64_t, DataHandle> content_;
  Sink from_near_;
  Sink from_far_;
  NearCounters counters_;
};

}  // namespace nearfar::sim::imc
