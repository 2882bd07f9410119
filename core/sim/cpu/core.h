#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>

#include "base/histogram.h"
#include "sim/cpu/block.h"
#include "sim/cpu/core_config.h"
#include "sim/cpu/fine_time.h"
#include "sim/cpu/hierarchy.h"
#include "sim/cpu/socket.h"

namespace nearfar::sim::cpu {

/// Where a program's pages lie in memory, as the code that places them says.
class PageMap {
 public:
  struct Frame {
    Address frame;      ///< of the page that holds the address
    bool huge = false;  ///< of 2 MiB, else of 4 KiB
  };

  PageMap() = default;
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;
  virtual ~PageMap() = default;

  /// A page that is not placed yet is placed now.
  virtual Frame frame_of(Address address) = 0;
  /// The same for a page that is placed; one that is not stays so.
  [[nodiscard]] virtual std::optional<Frame> find(Address) const { return std::nullopt; }
  /// Changes whenever a page that was asked for has moved or gone.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

 protected:
  std::uint64_t generation_ = 0;
};

/// What a core's time went to; an instruction that retires later than the one before it and the
/// core's width would let it has waited for one of these.
enum class Cause : std::uint8_t {
  base,         ///< width, ports and latencies of the instructions themselves
  branch,       ///< refilling after a wrong guess
  l1,           ///< a load's data, by where they were
  l2,
  l3,
  memory,
  tlb,          ///< a load's translation
  store_queue,  ///< a place in it
  fence,        ///< waiting for earlier accesses, because the program asked for it
  paging,       ///< pages that are copied between tiers before the program can go on
  away,         ///< the thread was elsewhere: none of its core's time
};
inline constexpr std::size_t causes = 10;  ///< of a core's time

/// Sums of a core, from its beginning or the last time they were forgotten.
struct CoreCounts {
  std::uint64_t instructions = 0;
  std::uint64_t loads = 0;         ///< lines that loads touched
  std::uint64_t wrong_path = 0;    ///< lines besides, that L1 did not have, after wrong guesses
  std::uint64_t stores = 0;
  std::uint64_t forwarded = 0;     ///< loads that found their data in the store queue
  std::uint64_t branches = 0;
  std::uint64_t mispredicted = 0;
  std::uint64_t nt_lines = 0;      ///< lines that left write-combining buffers
  std::uint64_t nt_partial = 0;    ///< of which not all bytes were there
  std::uint64_t flushes = 0;       ///< lines that were flushed, dirty or not
  std::uint64_t flushes_dirty = 0;
  std::uint64_t fences = 0;
  std::array<Fine, causes> stack{};  ///< time by cause; the sum is the time
  Histogram load_latency;            ///< of loads that L1 did not have, in ps

  /// All of the time.
  [[nodiscard]] Tick busy() const {
    return coarse(std::accumulate(stack.begin(), stack.end(), Fine{0}));
  }

  CoreCounts& operator+=(const CoreCounts& other) {
    instructions += other.instructions;
    loads += other.loads;
    wrong_path += other.wrong_path;
    stores += other.stores;
    forwarded += other.forwarded;
    branches += other.branches;
    mispredicted += other.mispredicted;
    nt_lines += other.nt_lines;
    nt_partial += other.nt_partial;
    flushes += other.flushes;
    flushes_dirty += other.flushes_dirty;
    fences += other.fences;
    for (std::size_t i = 0; i < causes; ++i) stack[i] += other.stack[i];
    load_latency.merge(other.load_latency);
    return *this;
  }
};

/// A block that comes later, with its accesses.
struct Upcoming {
  const Block* block = nullptr;
  std::span<const Access> accesses;
};

/// A core that executes blocks.
class Core : public Socket::Client {
 public:
  Core(Socket& socket, const CoreConfig& config, PageMap& pages)
      : socket_(socket), config_(config), pages_(pages), core_(socket.attach(*this)) {}

  /// Executes a block up to its end: true; or to where it has to wait for something that will
  /// happen: then it has to be called again, with the same arguments, when the socket has
  /// stepped.
  virtual bool play(const Block& block, std::span<const Access> accesses) = 0;
  /// Whether it waits, in play(), to see what comes behind the block that it was given.
  [[nodiscard]] virtual bool looks_ahead() const { return false; }
  /// That block and what comes behind it. It may be called again then.
  virtual void look_ahead(std::span<const Upcoming>) {}
  /// Whether nothing is left in flight but what no instruction waits for.
  [[nodiscard]] virtual bool drained() const = 0;
  /// Whether it loads nothing either after wrong guesses.
  [[nodiscard]] virtual bool idle() const { return drained(); }
  /// No instruction to come will ask for anything before that.
  [[nodiscard]] virtual Tick clock() const = 0;
  /// When the last instruction retired, of those that did.
  [[nodiscard]] virtual Tick retired() const = 0;
  /// The next instruction begins no earlier than that: the thread was elsewhere, or its core
  /// waited for `cause`.
  virtual void skip_to(Tick time, Cause cause) = 0;
  /// Flushes a line as a clwb would that comes next. False: call again after a step.
  virtual bool flush_line(Address line, bool keep) = 0;

  [[nodiscard]] std::optional<Translation> translation(Address address) override {
    const std::optional<PageMap::Frame> found = pages_.find(address);
    if (!found) return std::nullopt;
    const Bytes page = found->huge ? Tlb::huge_page : Tlb::small_page;
    const Address at = found->frame + address.value() % page;
    return Translation{at.block(Tlb::small_page), found->huge};
  }

  [[nodiscard]] const CoreCounts& counts() const { return counts_; }
  void forget_counts() { counts_ = {}; }

 protected:
  /// A program's address in memory.
  [[gnu::always_inline]] Place place_of(std::uint64_t address) {
    const std::uint64_t page = address >> page_bits;
    const Known& known = known_[page % known_pages];
    if (known.page != page || generation_ != pages_.generation()) return look_up(address);
    return {Address(address + known.offset), Address(address), known.huge};
  }

  Socket& socket_;
  CoreConfig config_;
  PageMap& pages_;
  Hierarchy::Core core_;
  CoreCounts counts_;

 private:
  static constexpr unsigned page_bits = 12;
  static constexpr std::uint64_t known_pages = 256;
  struct Known {
    std::uint64_t page = ~std::uint64_t{0};
    std::uint64_t offset = 0;  ///< from program to memory, modulo 2^64
    bool huge = false;
  };

  Place look_up(std::uint64_t address) {
    const PageMap::Frame frame = pages_.frame_of(Address(address));
    // Placing a page may have moved others.
    if (generation_ != pages_.generation()) {
      generation_ = pages_.generation();
      known_.fill({});
    }
    const std::uint64_t mask = (frame.huge ? Tlb::huge_page : Tlb::small_page) - 1;
    const std::uint64_t offset = frame.frame.value() - (address & ~mask);
    known_[(address >> page_bits) % known_pages] = {address >> page_bits, offset, frame.huge};
    return {Address(address + offset), Address(address), frame.huge};
  }

  std::array<Known, known_pages> known_{};
  std::uint64_t generation_ = 0;
};

}  // namespace nearfar::sim::cpu
