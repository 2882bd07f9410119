#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/settings.h"
#include "frontend/engine.h"
#include "frontend/qemu/counts.h"
#include "frontend/qemu/recorder.h"
#include "frontend/qemu/stop_watch.h"
#include "frontend/qemu/window.h"
#include "frontend/system/memory_map.h"
#include "frontend/system/shares.h"

namespace nearfar::frontend::system {

/// A whole machine of one processor that QEMU executes, on a simulated core: what `nearfar run
/// --system` measures. It is never destroyed once its processor has begun.
///
/// The processor's own thread calls begin(), access(), line() and others(); end() is called when
/// that has stopped.
class Machine {
 public:
  /// `folder` is that of the run, with the files `options` and `model`. Throws InputError and
  /// std::runtime_error for files that cannot be used.
  explicit Machine(const std::string& folder);

  /// The processor begins to execute a block, which stays where it is.
  void begin(const qemu::Translated& block) {
    if (region_ != nullptr && (region_->load() == '1') != watching_) turn_region();
    if (!watching_) {
      skipped_ += block.block.instructions.size();
      return;
    }
    if (recorder_.full()) drain();
    recorder_.begin(block);
    // What the block before did until its last instruction it did by the old tables.
    if (tables_changed_) known_.fill({});
    tables_changed_ = block.changes_tables;
  }

  /// Whether what it does is of interest; else nothing but begin() need be called.
  [[nodiscard]] bool watches() const { return watching_; }

  /// An instruction of the current block accesses memory, at a virtual address and at a physical
  /// one.
  void access(std::uint64_t address, std::uint64_t physical, unsigned size,
              std::uint16_t instruction, bool store) {
    if (!watching_) return;
    if (!memory_.has(Address(physical))) {
      unseen_.rom += beyond_ ? 0 : 1;
      return;
    }
    tell(address >> page_bits, physical >> page_bits);
    const unsigned room = page - static_cast<unsigned>(address % page);
    // Where the rest lies is not told.
    if (size > room && !knows((address >> page_bits) + 1)) {
      unseen_.cut += beyond_ ? 0 : 1;
      size = room;
    }
    recorder_.access(address, size, instruction, store);
  }
  /// It flushes or prefetches the line at a virtual address, if that is known.
  void line(const std::uint64_t* address, std::uint16_t instruction, bool flush);
  /// It accesses a device; or does so as a part of what the decoder does not tell, such as the
  /// loading of a segment.
  void accesses_device() { unseen_.device += watching_ && !beyond_ ? 1 : 0; }
  void accesses_hidden() { unseen_.hidden += watching_ && !beyond_ ? 1 : 0; }

  /// The machine stops: the result is written.
  void end();

 private:
  static constexpr unsigned page_bits = 12;
  static constexpr unsigned page = 1u << page_bits;
  /// What of the guest's accesses is not simulated.
  struct Unseen {
    std::uint64_t device = 0;
    std::uint64_t rom = 0;     ///< neither a device nor the machine's memory
    std::uint64_t hidden = 0;
    std::uint64_t cut = 0;     ///< beyond the end of a page, in one that was not known
  };
  /// A page as it was told last.
  struct Known {
    std::uint64_t virtual_page = ~std::uint64_t{0};
    std::uint64_t physical_page = 0;
  };
  /// A page that is told before a run of the recorder.
  struct Change {
    std::size_t run = 0;
    Known page;
  };

  Machine(const std::string& folder, const Settings& options);
  [[nodiscard]] bool knows(std::uint64_t virtual_page) const {
    return known_[virtual_page % known_.size()].virtual_page == virtual_page;
  }
  void tell(std::uint64_t virtual_page, std::uint64_t physical_page) {
    Known& known = known_[virtual_page % known_.size()];
    if (known.virtual_page == virtual_page && known.physical_page == physical_page) return;
    known = {virtual_page, physical_page};
    changes_.push_back({recorder_.runs() - 1, known});
  }
  void turn_region();
  void turn_region_to(bool begins);
  void drain();
  void simulate();
  void execute(const qemu::Recorder::Run& run, std::span<const sim::cpu::Access> accesses);
  void enter(qemu::Window::Part part);
  void begin_counts();
  [[nodiscard]] bool counts_now() const {
    return window_.part() == qemu::Window::Part::warming ||
           window_.part() == qemu::Window::Part::counted;
  }
  [[noreturn]] void fail(const std::string& why);
  void stop();
  void write_locked(bool final, const std::string& error);

  std::string folder_;
  Settings options_;
  MemoryMap memory_;
  qemu::Window window_;
  const std::atomic<char>* region_ = nullptr;  ///< null: everything is watched
  bool watching_;
  bool beyond_ = false;  ///< the window is over: what comes is not counted
  std::array<Known, 2048> known_{};
  bool tables_changed_ = false;  ///< by the latest block
  qemu::Recorder recorder_;
  std::vector<Change> changes_;
  Unseen unseen_;
  std::uint64_t skipped_ = 0;  ///< instructions that the engine has not been told of

  std::mutex mutex_;  ///< of all below
  std::unique_ptr<Engine> engine_;
  Engine::Thread thread_ = 0;
  qemu::Counts counts_;
  qemu::Counts fresh_;  ///< since the last drain
  std::uint64_t halts_ = 0;
  Shares shares_;
  std::uint64_t regions_ = 0;
  bool ended_ = false;
  bool stopped_ = false;  ///< before the machine's own end
  std::chrono::steady_clock::time_point written_ = std::chrono::steady_clock::now();
  qemu::StopWatch stop_watch_;
};

}  // namespace nearfar::frontend::system
