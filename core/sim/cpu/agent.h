#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/event_queue.h"
#include "base/histogram.h"
#include "base/slab.h"
#include "sim/cpu/config.h"
#include "sim/cpu/hierarchy.h"
#include "sim/cpu/program.h"
#include "sim/cpu/uncertain_reads.h"
#include "sim/cpu/uncore.h"
#include "sim/device.h"

namespace nearfar::sim::cpu {

/// Plays programs on a device as cores would, one thread a core; further threads are second
/// threads of the cores, whose caches they share and whose buffers and queues they divide.
///
/// Steps issue in program order, each when what it needs is there: a load that passes the caches
/// a line buffer, one that does not what the caches have for a miss, both room in the reorder
/// buffer behind the oldest load still out; a non-temporal store a write-combining buffer; a
/// cached store its line, in order, through the store queue; a flush a flush buffer. An mfence
/// waits for what it orders; an sfence does so in the store queue, where it holds back what
/// follows, but neither loads nor the asking for stores' lines.
class Agent {
 public:
  struct Limits {
    std::uint64_t lines = 0;       ///< no further line is accessed after so many; 0: no limit
    std::uint64_t warm_lines = 0;  ///< counted from the line after these
    /// Not 0: the first thread is what is measured, everything ends after so many of its
    /// lines, and only its loads' latencies count.
    std::uint64_t leader_lines = 0;
    /// So many cached lines, of all threads, only leave their traces in the caches: before time
    /// begins.
    std::uint64_t untimed = 0;
  };

  /// What was measured from the end of the warm-up to the end.
  struct Measured {
    std::uint64_t lines = 0;
    Tick elapsed{};
    Histogram latency;  ///< of every load, in ps
    std::vector<Tick> samples;  ///< of the sample steps, in order of their ends
  };

  Agent(Device& device, const Config& config, std::uint64_t seed);

  /// Runs one thread for each program until all have ended or the limit is reached, and
  /// everything in flight is done. `poll` is called every 65,536 events. Time goes on from
  /// where the last run ended; the caches begin empty, as after a wbinvd.
  Measured run(std::vector<std::unique_ptr<Program>> programs, const Limits& limits,
               const std::function<void()>& poll = {});

  [[nodiscard]] Tick now() const { return now_; }
  /// Those of the last run; null if nothing went through them.
  [[nodiscard]] const Hierarchy* caches() const { return caches_.get(); }

 private:
  using Index = std::uint32_t;

  /// A store, a store with its flush, or an sfence, that has not committed.
  struct QueuedStore {
    enum class Kind : std::uint8_t { store, flush, fence } kind = Kind::store;
    Address address{};
    bool line_here = false;
    bool asked = true;  ///< for its line
  };

  /// A thread's part of its core, in what a core has of each.
  struct Share {
    std::uint32_t load_buffers = 0;
    std::uint32_t wc_buffers = 0;
    std::uint32_t store_lines = 0;
    std::uint32_t store_queue = 0;
    std::uint32_t flush_buffers = 0;
    std::uint32_t rob = 0;
  };

  struct Thread {
    std::uint16_t core = 0;
    Share share;
    std::unique_ptr<Program> program;
    Step step;
    bool has_step = false;
    bool blocked = false;
    bool ended = false;
    Tick at{};  ///< the next step issues no earlier
    Tick table_at{};  ///< the index chain has got this far
    std::uint32_t loads = 0;  ///< out; and lines that stores wait for
    std::uint32_t buffers = 0;  ///< line buffers in use
    std::uint32_t nt_stores = 0;  ///< write-combining buffers in use
    std::uint32_t store_lines =
        0;  ///< that cached stores have asked memory for, neighbours included
    std::uint32_t flushes = 0;  ///< flush buffers in use
    std::uint32_t evictions = 0;  ///< dirty lines on their way out of the caches
    std::uint32_t unaccepted = 0;  ///< flushes that a fence has to wait for
    std::uint32_t fences = 0;  ///< among `stores`
    Tick ordered_at{};  ///< what follows the last sfence commits no earlier
    bool feeding = false;  ///< the load the next waiting step depends on is out
    bool socket_full = false;  ///< blocked until any core's miss is answered
    std::uint64_t instruction = 0;
    std::uint64_t first_load = 0;  ///< serial number of loads_out's first
    std::deque<std::uint64_t> loads_out;  ///< their instructions, in order; done: all ones
    std::uint64_t first_store = 0;
    std::deque<QueuedStore> stores;
    Tick sample_start{};
  };

  struct Flight {
    enum class Kind : std::uint8_t { load, store_line, fill, nt_store, flush, eviction } kind{};
    std::uint16_t thread = 0;  ///< of fills and evictions any of the core's
    bool feeds = false;
    bool timed = false;
    bool buffered = false;  ///< holds a line buffer
    bool release = false;  ///< hit beyond L1: holds a register of L1
    bool translated = false;  ///< its page has been walked to
    bool marked = false;  ///< leads_to_ has where its pointer leads
    bool given_up = false;  ///< on its way to the controller
    pretranslation::Marks marks = 0;
    std::uint8_t pointer_offset = 0;
    std::uint8_t store_lines = 0;  ///< asked of memory for the store: counted in the thread's
    Tick issued{};
    std::uint64_t serial = 0;  ///< of the load, of the store that needs the line, of the miss
    Address address;
    std::uint64_t tag = 0;  ///< of a timed step

    [[nodiscard]] bool reads() const { return kind <= Kind::fill; }
  };

  struct Event {
    enum class Kind : std::uint8_t { send, arrive, flush_free, fence, run, commit, walked } kind;
    Index index;
  };

  void run_thread(std::uint16_t thread, Tick now);
  [[nodiscard]] bool can_issue(const Thread& thread) const;
  [[nodiscard]] bool cached(const Step& step) const;
  [[nodiscard]] bool may_ask_for_line(const Thread& thread) const;
  /// With the one that the adjacent-line prefetcher brings along.
  [[nodiscard]] std::uint8_t lines_of_store() const {
    return config_.cached && config_.caches.prefetch.adjacent ? 2 : 1;
  }
  bool issue(std::uint16_t thread);
  bool issue_load(std::uint16_t thread);
  bool issue_store(std::uint16_t thread);
  void issue_nt_store(std::uint16_t thread);
  void count_line(std::uint16_t thread, Tick at);
  void commit_stores(std::uint16_t thread, Tick now);
  bool pass_fence(std::uint16_t thread, Tick now);
  [[nodiscard]] static bool drained(const Thread& thread);
  [[nodiscard]] bool evict_if_full(std::uint16_t thread, Address address, Tick now);
  void open_caches();
  bool ask_caches(const Flight& flight, Tick at);
  [[nodiscard]] Hierarchy::Answer look_up(Index flight, Tick at);
  [[gnu::noinline]] Hierarchy::Answer access_marked(Index flight);
  void walked(Hierarchy::Walk walk, Tick now);
  void ask_translated(std::uint16_t core, Tick now);
  bool ask_again(std::uint16_t thread, Tick now);
  [[nodiscard]] std::optional<Tick> found_in_caches(std::uint16_t thread, Address address) const;
  void send_transfers(Tick at);
  void send_pointers(Tick now);
  void unchecked_arrived(Tick now);
  [[nodiscard]] Request request_of(Index flight) const;
  void fill(const Flight& flight, std::uint64_t frame, Tick now);
  std::uint64_t frame_of(Index flight);
  void warm_caches(std::uint64_t lines);
  bool warm_line(std::uint16_t thread);
  void launch(const Flight& flight, Tick out);
  void send(Index flight, Tick now);
  void accepted(Index flight, Tick now);
  void arrived(Index flight, Tick now);
  void resume(std::uint16_t thread, Tick now);
  void resume_core(std::uint16_t core, Tick now);
  [[nodiscard]] Share share_of(std::size_t core) const;

  Device& device_;
  Config config_;
  Uncore uncore_;
  Rng rng_;
  std::vector<Thread> threads_;
  EventQueue<Event> events_;
  Slab<Flight> flights_;
  std::unique_ptr<Hierarchy> caches_;
  UncertainReads uncertain_;
  std::unordered_map<Index, Address> leads_to_;  ///< of marked loads; looked up, never walked
  std::unordered_map<Index, std::uint64_t> frames_;  ///< that came; likewise
  std::uint64_t caches_seed_;
  std::vector<Hierarchy::Waiter> woken_;
  std::vector<Hierarchy::Waiter> walked_;
  /// By core: what has been walked to and found no register, oldest first; and of all cores.
  std::vector<std::deque<Index>> translated_;
  std::size_t translated_count_ = 0;
  std::vector<Address> dirty_;  ///< without caches: lines that plain stores left in them
  Sink sink_;
  Tick now_{};
  Limits limits_;
  std::uint64_t lines_ = 0;
  std::uint64_t leader_lines_ = 0;
  bool stopped_ = false;
  Tick warm_at_{};
  Tick last_at_{};
  Measured measured_;
};

}  // namespace nearfar::sim::cpu
