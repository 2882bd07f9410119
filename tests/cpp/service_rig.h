#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <stdexcept>

#include "policy/registry.h"
#include "tier/far/far_stores.h"
#include "tier/pager/pager.h"
#include "tier/service/service.h"
#include "tier/tree/orders.h"

namespace nearfar::tier {

struct ServiceOptions {
  std::size_t pages = 4096;  ///< of the region
  std::uint64_t limit = 512;
  PagerCpu cpu = PagerCpu::automatic;
  os::Faults faults = os::Faults::wait;
  os::Eviction eviction = os::Eviction::move;
};

/// A pager of this process and its service, on the kernel's own userfaultfd: what a launcher and
/// the preloaded library make. Their threads run until the process ends, so each test has one.
class ServiceRig {
 public:
  explicit ServiceRig(const ServiceOptions& options = {}) : pages_(options.pages) {
    const std::size_t bytes = control_memory_bytes(far_slots);
    const long shared =
        os::map(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE);
    if (shared < 0) throw std::runtime_error("no memory to share");
    control_ = os::pointer<Control>(static_cast<os::Place>(shared));
    control_->magic = Control::expected_magic;
    control_->limit_pages = options.limit;
    control_->policy = policy::default_replacement();
    control_->far_slots = far_slots;
    Orders& orders = orders_of(*control_);
    orders.generation = 1;
    orders.far_store = far_store_named("file");
    orders.eviction = options.eviction;
    orders.pager_cpu = options.cpu;
    make_region();
    const int file = static_cast<int>(os::call(__NR_memfd_create, os::word("far"), 0));
    FarStore& far = far_stores()[orders.far_store].make(*far_storage_, far_memory(*control_, file));
    pager_ = std::make_unique<Pager>(region_, table(options.limit), *control_, far,
                                     Kernel{uffd_, staging_uffd_, memory_});
    service_ = std::make_unique<Service>(*pager_, WakePipe(), -1);
    pager_->start(os::number_in_proc(), WakePipe(), options.faults);
  }

  [[nodiscard]] Service& service() { return *service_; }
  [[nodiscard]] Pager& pager() { return *pager_; }
  [[nodiscard]] os::Place place(std::size_t page) const {
    return region_.base + page * os::page_bytes;
  }
  [[nodiscard]] volatile std::uint64_t& word(std::size_t page) const {
    return *os::pointer<volatile std::uint64_t>(place(page));
  }
  [[nodiscard]] std::uint64_t count(Count what) const {
    return control_->counts[static_cast<std::size_t>(what)].load();
  }
  [[nodiscard]] Control& control() { return *control_; }

  void fill(std::size_t first, std::size_t count) const {
    for (std::size_t page = first; page < first + count; ++page) word(page) = page + 1;
  }
  [[nodiscard]] bool is_filled(std::size_t first, std::size_t count) const {
    for (std::size_t page = first; page < first + count; ++page)
      if (word(page) != page + 1) return false;
    return true;
  }

  /// Whether this process may have what it takes.
  [[nodiscard]] static bool is_possible() {
    os::KernelUffd uffd;
    const bool opened = uffd.open(os::Eviction::move, os::Changes::followed, os::Faults::wait) == 0;
    if (opened) uffd.close();
    return opened;
  }

 private:
  void make_region() {
    constexpr std::size_t huge = std::size_t{2} << 20U;
    region_.length = pages_ * os::page_bytes;
    const os::Place raw = os::reserve(region_.length + huge);
    region_.base = (raw + huge - 1) / huge * huge;
    region_.pages = os::reserve(pages_ * sizeof(Page));
    region_.groups = words(PageTable::groups(pages_));
  }
  [[nodiscard]] PageTable table(std::uint64_t limit) {
    policy::Replacement& policy = policy::replacements()[control_->policy].make(
        *policy_storage_, static_cast<policy::PageIndex>(limit));
    const std::size_t ranks = PageTable::ranks(pages_);
    policy.keep_in(os::pointer<std::byte>(
        os::reserve((ranks * PageTable::group + 1) * policy.bytes_per_page())));
    const PageTable::Groups groups{os::pointer<std::uint32_t>(region_.groups),
                                   os::pointer<std::uint32_t>(words(ranks)),
                                   os::pointer<std::uint32_t>(words(PageTable::blocks(pages_)))};
    return {os::pointer<Page>(region_.pages), groups, pages_, policy, limit};
  }
  [[nodiscard]] static os::Place words(std::size_t count) {
    return os::reserve((count + 1) * sizeof(std::uint32_t));
  }

  std::size_t pages_;
  Control* control_ = nullptr;
  Region region_;
  std::unique_ptr<policy::PolicyStorage> policy_storage_ =
      std::make_unique<policy::PolicyStorage>();
  std::unique_ptr<FarStoreStorage> far_storage_ = std::make_unique<FarStoreStorage>();
  os::KernelUffd uffd_;
  os::KernelUffd staging_uffd_;
  os::KernelMemory memory_;
  std::unique_ptr<Pager> pager_;
  std::unique_ptr<Service> service_;
};

}  // namespace nearfar::tier
