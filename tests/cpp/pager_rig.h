#pragma once

#include <unistd.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "fake_kernel.h"
#include "policy/registry.h"
#include "policy/replacement/replacement.h"
#include "tier/far/far_stores.h"
#include "tier/far/file_store.h"
#include "tier/pager/pager.h"
#include "tier/tree/orders.h"

namespace nearfar::tier {

struct RigOptions {
  std::size_t pages = 4096;  ///< of the region
  std::uint64_t limit = 1024;
  std::string policy = "s3-fifo";
  Compression compression = Compression::none;
  os::Eviction eviction = os::Eviction::move;
  os::Faults faults = os::Faults::wait;
  bool huge_pages = true;
  bool far_in_memory = true;  ///< read and written in place
  std::size_t slots = 0;      ///< of the far file; 0: as many as pages
  const char* placement = nullptr;  ///< policy of two tiers that are both addressed directly
  policy::Detector detector = policy::Detector::probe;
};

/// What a launcher and a kernel give a pager: a tree's shared memory, a far file, a region with its
/// page table, a policy, and a fake kernel.
class TreeRig {
 public:
  explicit TreeRig(const RigOptions& options)
      : options_(options), uffd_(pages_), staging_uffd_(pages_), memory_(pages_) {
    const std::size_t slots = options.slots != 0 ? options.slots : options.pages;
    control_bytes_ = control_memory_bytes(slots);
    control_place_ = reserve(control_bytes_);
    Control& shared = control();
    shared.limit_pages.store(options.limit);
    shared.far_slots = slots;
    orders_of(shared).compression = options.compression;
    orders_of(shared).eviction = options.eviction;
    far_ = static_cast<int>(os::call(__NR_memfd_create, os::word("far"), MFD_ALLOW_SEALING));
    const std::size_t bytes = options.compression == Compression::none
                                  ? slots * os::page_bytes
                                  : slots / Chunks::slots_a_chunk * 64 * 4096;
    if (options.far_in_memory) {
      if (ftruncate(far_, static_cast<off_t>(bytes)) != 0) throw std::runtime_error("memfd");
      os::call(__NR_fcntl, far_, add_seals, seal_shrink);
    }
    region_.length = options.pages * os::page_bytes;
    const os::Place raw = reserve(region_.length + fake_huge_bytes);
    region_.base = (raw + fake_huge_bytes - 1) / fake_huge_bytes * fake_huge_bytes;
    region_.pages = reserve(options.pages * sizeof(Page));
    region_.groups = reserve_words(PageTable::groups(options.pages));
    memory_.huge_pages = options.huge_pages;
    make_policy();
    const FarMemory far = far_memory(control(), far_);
    if (options.compression == Compression::none && !options.far_in_memory) {
      store_ = &make_file_store(*far_storage_, far);
      return;
    }
    const bool packed = options.compression != Compression::none;
    store_ = &far_stores()[far_store_named(packed ? "compressed" : "anonymous")].make(*far_storage_,
                                                                                      far);
  }
  TreeRig(const TreeRig&) = delete;
  TreeRig& operator=(const TreeRig&) = delete;
  ~TreeRig() {
    for (const auto& [begin, length] : reserved_) os::unmap(begin, length);
    ::close(far_);
  }

  [[nodiscard]] Control& control() { return *os::pointer<Control>(control_place_); }
  [[nodiscard]] std::uint64_t count(Count what) {
    return control().counts[static_cast<std::size_t>(what)].load();
  }
  [[nodiscard]] Region region() const { return region_; }
  [[nodiscard]] PageTable table() {
    const PageTable::Groups groups{os::pointer<std::uint32_t>(region_.groups),
                                   os::pointer<std::uint32_t>(ranks_),
                                   os::pointer<std::uint32_t>(blocks_)};
    return {os::pointer<Page>(region_.pages), groups, options_.pages, *policy_, options_.limit};
  }
  [[nodiscard]] FlatPages* flat() { return flat_ ? &*flat_ : nullptr; }
  [[nodiscard]] FarStore& far() { return *store_; }
  [[nodiscard]] Kernel kernel() { return {uffd_, staging_uffd_, memory_}; }
  [[nodiscard]] FakePages& pages() { return pages_; }
  [[nodiscard]] FakeMemory& memory() { return memory_; }
  [[nodiscard]] FakeUffd& uffd() { return uffd_; }
  [[nodiscard]] FakeUffd& staging_uffd() { return staging_uffd_; }
  [[nodiscard]] const RigOptions& options() const { return options_; }
  [[nodiscard]] os::Place place(PageNumber page) const {
    return region_.base + std::size_t{page} * os::page_bytes;
  }

 private:
  static constexpr int add_seals = 1033;
  static constexpr int seal_shrink = 2;

  [[nodiscard]] os::Place reserve(std::size_t length) {
    const os::Place at = os::reserve(length);
    if (at == 0) throw std::runtime_error("no memory for the rig");
    reserved_.emplace_back(at, length);
    return at;
  }
  [[nodiscard]] os::Place reserve_words(std::size_t words) {
    return reserve((words + 1) * sizeof(std::uint32_t));
  }
  void make_flat() {
    FlatControl& shared = flat_of(control());
    shared.detector = static_cast<std::uint32_t>(options_.detector);
    shared.far_node = 1;
    shared.interval_ns = 1'000'000'000;
    shared.pairs = 64;
    for (const policy::PlacementEntry& entry : policy::placements()) {
      if (entry.name != options_.placement) continue;
      policy::Placement& made =
          entry.make(*storage_, static_cast<policy::PageIndex>(options_.limit));
      policy_ = &flat_.emplace(made, control());
    }
    if (policy_ == nullptr) {
      throw std::runtime_error("no such policy: " + std::string(options_.placement));
    }
    const std::size_t pages = PageTable::ranks(options_.pages) * PageTable::group;
    flat_->reserve(pages);
    policy_->keep_in(os::pointer(reserve((pages + 512) * policy_->bytes_per_page())));
  }
  void make_policy() {
    ranks_ = reserve_words(PageTable::ranks(options_.pages));
    blocks_ = reserve_words(PageTable::blocks(options_.pages));
    if (options_.placement != nullptr) {
      make_flat();
      return;
    }
    for (const policy::ReplacementEntry& entry : policy::replacements()) {
      if (entry.name != options_.policy) continue;
      policy_ = &entry.make(*storage_, static_cast<policy::PageIndex>(options_.limit));
    }
    if (policy_ == nullptr) throw std::runtime_error("no such policy: " + options_.policy);
    policy_->keep_in(os::pointer(reserve((options_.pages + 512) * policy_->bytes_per_page())));
  }

  RigOptions options_;
  FakePages pages_;
  FakeUffd uffd_;
  FakeUffd staging_uffd_;
  FakeMemory memory_;
  std::vector<std::pair<os::Place, std::size_t>> reserved_;
  std::size_t control_bytes_ = 0;
  os::Place control_place_ = 0;
  os::Place ranks_ = 0;
  os::Place blocks_ = 0;
  Region region_;
  int far_ = -1;
  std::unique_ptr<policy::PolicyStorage> storage_ = std::make_unique<policy::PolicyStorage>();
  policy::Replacement* policy_ = nullptr;
  std::optional<FlatPages> flat_;
  std::unique_ptr<FarStoreStorage> far_storage_ = std::make_unique<FarStoreStorage>();
  FarStore* store_ = nullptr;
};

/// A pager on a fake kernel, and a program that touches its memory and knows what must be there.
class PagerRig : public TreeRig {
 public:
  explicit PagerRig(const RigOptions& options) : TreeRig(options), words_(options.pages) {
    pager_.emplace(region(), table(), control(), far(), kernel());
    if (flat() != nullptr) pager_->make_flat(*flat());
    pager_->start(static_cast<std::int32_t>(os::call(__NR_getpid)), WakePipe(), options.faults);
  }

  [[nodiscard]] Pager& pager() { return *pager_; }
  [[nodiscard]] std::uint64_t faults() const { return faults_; }
  /// What the program has written to a page, as far as it can know.
  [[nodiscard]] std::uint64_t& word(PageNumber page) { return words_[page]; }

  /// Calls the pager as its thread does, counted by callgrind if that counts.
  template <typename Call>
  auto call(const Call& call) {
    Uncounted::counting = true;
    const Uncounted pager;  // toggles: what is inside is counted
    const auto result = call();
    Uncounted::counting = true;
    return result;
  }

  /// The program reads a page, or writes another word to it. False if the page does not come.
  bool touch(PageNumber page, bool writes) {
    const os::Place at = place(page);
    for (;;) {
      const FakePages::Info found = pages().at(at);
      if (found.present && !(writes && found.write_protected)) break;
      if (!found.present && !found.registered) {
        serve_as_kernel(at);
        break;
      }
      ++faults_;
      const os::Touch write = found.present ? os::Touch::write_protected : os::Touch::write;
      const os::Touch touch = writes ? write : os::Touch::read;
      if (!call([&] { return pager_->fault(at, touch); })) return false;
      for (unsigned step = 0; step < 32; ++step) {
        if (call([&] { return pager_->evict_in_background(); })) continue;
        if (!call([&] { return pager_->continue_read_ahead(); })) break;
      }
    }
    auto* const there = os::pointer<std::uint64_t>(at);
    if (*there != words_[page])
      throw std::runtime_error("page " + std::to_string(page) + " holds " + std::to_string(*there) +
                               ", not " + std::to_string(words_[page]));
    if (writes) {
      words_[page] = next_word_;
      *there = next_word_;
      // Half of a page is not the same everywhere, so that some of it compresses.
      for (std::size_t i = 1; i < 256; ++i) there[i] = next_word_ * (i + 1) * 0x9e3779b97f4a7c15U;
      ++next_word_;
      pages()[at].shared = false;
      pages()[at].zeros = false;
    }
    return true;
  }
  /// Writes zeros.
  void clear(PageNumber page) {
    if (!touch(page, true)) return;
    std::memset(os::pointer(place(page)), 0, os::page_bytes);
    words_[page] = 0;
  }

 private:
  /// A first touch in a window.
  void serve_as_kernel(os::Place at) {
    const os::Place first = at / fake_huge_bytes * fake_huge_bytes;
    const bool huge = pages().at(at).wants_huge;
    bool empty = huge;
    for (std::size_t i = 0; empty && i < fake_huge_bytes; i += os::page_bytes) {
      const FakePages::Info page = pages().at(first + i);
      empty = !page.present && !page.registered && page.wants_huge;
    }
    if (!empty) {
      pages()[at].present = true;
      return;
    }
    pages().each(first, fake_huge_bytes, [](FakePages::Info& page) {
      page.present = true;
      page.huge = true;
    });
  }

  std::optional<Pager> pager_;
  std::vector<std::uint64_t> words_;
  std::uint64_t next_word_ = 1;
  std::uint64_t faults_ = 0;
};

}  // namespace nearfar::tier
