#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/event_queue.h"
#include "base/slab.h"
#include "sim/cpu/config.h"
#include "sim/cpu/hierarchy.h"
#include "sim/cpu/uncertain_reads.h"
#include "sim/cpu/uncore.h"
#include "sim/device.h"

namespace nearfar::sim::cpu {

/// What the cores of a socket share: the caches, the way to memory, memory, and time.
///
/// A core that runs programs asks at the time of its asking, which is never before now(): what it
/// means to do later it puts off with call_at(). The socket's time moves in step() alone.
class Socket {
 public:
  using Core = Hierarchy::Core;
  using Waiter = Hierarchy::Waiter;

  /// What a core is told.
  class Client {
   public:
    Client() = default;
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    virtual ~Client() = default;
    /// The line that `waiter` waits for is here.
    virtual void arrived(Waiter waiter, Tick now) = 0;
    /// The page of what `waiter` asked for is known: it has to ask again, translated.
    virtual void translated(Waiter waiter, Tick now) = 0;
    /// The time of a call_at() has come.
    virtual void due(Waiter token, Tick now) = 0;
    /// A register may have come free that an access lacked.
    virtual void retry(Tick now) = 0;
    /// A write-combining buffer is free: its line has been accepted.
    virtual void nt_stored(Tick now) = 0;
    /// A flush has been accepted; and its buffer is free.
    virtual void flushed(Tick now) = 0;
    virtual void flush_freed(Tick now) = 0;
    /// Where the program's address lies, if it has a page there; places none.
    [[nodiscard]] virtual std::optional<Translation> translation(Address) { return std::nullopt; }
  };

  /// What goes from a core to memory, and why.
  enum class Traffic : std::uint8_t {
    fill,
    table,  ///< a page walk's read
    eviction,
    nt_store,
    flush,
    move_read,   ///< of a page that moves, for no core
    move_write,
  };
  [[nodiscard]] static bool reads(Traffic what) {
    return what == Traffic::fill || what == Traffic::table || what == Traffic::move_read;
  }
  /// Is told of every line, when it has left the core.
  using Watch = std::function<void(Traffic what, Core core, Address line, Tick at)>;
  /// And of every fence, when what the core sent before has been accepted.
  using FenceWatch = std::function<void(Core core, bool full, Tick at)>;

  Socket(Device& device, const Config& config, std::uint64_t seed);

  /// A new core. `client` must outlive the socket's last step.
  Core attach(Client& client);

  [[nodiscard]] Tick now() const { return now_; }
  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] Hierarchy& caches() { return caches_; }
  [[nodiscard]] const Hierarchy& caches() const { return caches_; }

  /// As Hierarchy::access, now; what is beyond L1 gives its register back by itself. After
  /// `full` the core is told to retry().
  Hierarchy::Answer access(Core core, const Place& place, Hierarchy::Kind kind, Waiter waiter);
  /// A marked load has found its line by Hierarchy::quick().
  void marked_hit(Core core, const Place& place) {
    if (!config_.caches.pretranslation.probe || place.leads_to == Address{}) return;
    caches_.marked_hit(core, place);
    send_transfers(now_);
  }
  void call_at(Tick time, Core core, Waiter token);
  /// A line that leaves a write-combining buffer then.
  void nt_store(Core core, Address line, Tick at);
  /// Writes a line back that the caches have given up.
  void flush(Core core, Address line);
  void fence(Core core, bool full, Tick at);
  /// A line that is read or written past the caches, to move a page; `done` is called
  /// with `id`.
  void move_line(Address line, bool write, std::uint64_t id, Tick at);
  void on_moved(std::function<void(std::uint64_t id, Tick now)> moved) {
    moved_ = std::move(moved);
  }
  void watch(Watch watch) { watch_ = std::move(watch); }
  void watch_fences(FenceWatch watch) { fence_watch_ = std::move(watch); }

  /// Whether anything has been asked for that has not happened.
  [[nodiscard]] bool busy() const { return flights_.in_use() != 0 || !events_.empty(); }

  /// Plays the next instant at which something happens, or reaches `until` before that. Whether
  /// anything happened.
  bool step(Tick until);

 private:
  struct Flight {
    Traffic kind = Traffic::fill;
    bool given_up = false;  ///< on its way to the controller
    Core core = 0;
    pretranslation::Marks marks = 0;
    std::uint8_t pointer_offset = 0;
    Tick issued{};
    std::uint64_t id = 0;  ///< of the miss, of the moved line
    Address address;
  };
  enum class Lacks : std::uint8_t { nothing, own_register, socket_register };
  /// An access that waits for a line.
  struct Asker {
    Core core = 0;
    Waiter waiter = 0;
  };
  struct Event {
    enum class Kind : std::uint8_t { send, arrive, due, walked, release, flush_free, fence } kind;
    Core core;
    std::uint32_t index;
  };

  void launch(const Flight& flight, Tick at);
  void send_transfers(Tick at);
  void send_pointers();
  void send(std::uint32_t index);
  void unchecked_arrived();
  [[nodiscard]] Request request_of(std::uint32_t index) const;
  void handle(const Event& event);
  void accepted(std::uint32_t index);
  void arrived(std::uint32_t index);
  void fill(const Flight& flight, std::uint64_t frame);
  std::uint64_t frame_of(std::uint32_t flight);
  void walked(Hierarchy::Walk walk);
  void retry(Core core);

  Device& device_;
  Config config_;
  Uncore uncore_;
  Hierarchy caches_;
  UncertainReads uncertain_;
  std::unordered_map<std::uint32_t, std::uint64_t> frames_;  ///< that came with flights
  std::vector<Client*> clients_;
  std::vector<Lacks> lacks_;  ///< by core: what it waits for
  EventQueue<Event> events_;
  Slab<Flight> flights_;
  Slab<Asker> askers_;
  std::vector<Waiter> woken_;
  std::vector<Waiter> translated_;
  std::function<void(std::uint64_t, Tick)> moved_;
  Watch watch_;
  FenceWatch fence_watch_;
  Sink sink_;
  Tick now_{};
};

}  // namespace nearfar::sim::cpu
