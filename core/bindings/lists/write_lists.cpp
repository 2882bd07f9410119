// Writes the Python module nearfar._lists: the lists that both languages share, and where things
// lie in memory and files that a program on two tiers shares with its launcher. A module that is
// made when the core is built, and not a binding: it is read where the core may not be loaded (by
// `results`, and by the command line before it knows what to do).
//
// Far memory and the pager are compiled for Linux on x86-64 alone; elsewhere their lists are empty.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/named.h"
#include "policy/registry.h"
#include "tier/far/chunks.h"
#include "tier/far/compression.h"
#include "tier/os/eviction.h"
#include "tier/pager/fault_record.h"
#include "tier/service/pager_cpu.h"
#include "tier/tree/control.h"
#include "tier/tree/orders.h"
#if defined(__linux__) && defined(__x86_64__)
#include "tier/far/far_stores.h"
#include "tier/pager/page_table.h"
#include "tier/pager/region.h"
#define NEARFAR_HAS_PAGER 1
#else
#define NEARFAR_HAS_PAGER 0
#endif

namespace {

using namespace nearfar;
using namespace nearfar::tier;

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

void write(std::string_view name, std::span<const Named> list) {
  std::cout << name << " = {\n";
  for (const Named& entry : list)
    std::cout << "    " << quoted(entry.name) << ": " << quoted(entry.meaning) << ",\n";
  std::cout << "}\n";
}

void write(std::string_view name, std::uint64_t value) {
  std::cout << name << " = " << value << "\n";
}

/// The code by which Python's module `struct` knows an integer, an enumeration, or an atomic one.
template <typename T>
struct Code {
  static constexpr char of() {
    if constexpr (std::is_enum_v<T>)
      return Code<std::underlying_type_t<T>>::of();
    else if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
      return std::is_signed_v<T> ? 'q' : 'Q';
    else if constexpr (std::is_integral_v<T> && sizeof(T) == 4)
      return std::is_signed_v<T> ? 'i' : 'I';
    else if constexpr (std::is_integral_v<T> && sizeof(T) == 2)
      return std::is_signed_v<T> ? 'h' : 'H';
    else
      return std::is_signed_v<T> ? 'b' : 'B';
  }
};
template <typename T>
struct Code<std::atomic<T>> : Code<T> {};
template <typename T, std::size_t count>
struct Code<T[count]> : Code<T> {};

/// Where the fields of a struct lie, from the beginning of what contains it.
class Layout {
 public:
  explicit Layout(std::string_view name, std::size_t at = 0) : at_(at) {
    std::cout << name << " = {\n";
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  ~Layout() { std::cout << "}\n"; }

  template <typename T>
  void field(std::string_view name, std::size_t offset) const {
    std::cout << "    " << quoted(name) << ": (" << at_ + offset << ", \"" << Code<T>::of()
              << "\"),\n";
  }

 private:
  std::size_t at_;
};

#define FIELD(layout, type, name) \
  (layout).field<std::remove_cvref_t<decltype(type::name)>>(#name, offsetof(type, name))

void write_policies() {
  std::cout << "POLICIES = (\n";
  for (const policy::ReplacementEntry& entry : policy::replacements())
    std::cout << "    " << quoted(entry.name) << ",\n";
  const std::uint32_t usual = policy::default_replacement();
  std::cout << ")\nDEFAULT_POLICY = " << quoted(policy::replacements()[usual].name) << "\n";
}

void write_control() {
  write("CONTROL_MAGIC", Control::expected_magic);
  {
    const Layout control("CONTROL");
    FIELD(control, Control, magic);
    FIELD(control, Control, limit_pages);
    FIELD(control, Control, far_slots);
    FIELD(control, Control, policy);
    FIELD(control, Control, fault_log);
    FIELD(control, Control, near_total);
    FIELD(control, Control, managed_total);
    FIELD(control, Control, slots_used);
    FIELD(control, Control, counts);
    FIELD(control, Control, members_end);
    FIELD(control, Control, stored_bytes);
  }
  {
    const Layout member("MEMBER", offsetof(Control, members));
    FIELD(member, Member, process);
    FIELD(member, Member, near_pages);
    FIELD(member, Member, managed_pages);
    FIELD(member, Member, pager_thread);
    FIELD(member, Member, region);
  }
  write("MEMBER_BYTES", sizeof(Member));
  {
    const Layout orders("ORDERS", Orders::offset);
    FIELD(orders, Orders, generation);
    FIELD(orders, Orders, residence);
    FIELD(orders, Orders, latency_ps);
    FIELD(orders, Orders, transfer_ps);
    FIELD(orders, Orders, owner);
    FIELD(orders, Orders, control_descriptor);
    FIELD(orders, Orders, far_descriptor);
    FIELD(orders, Orders, bell_descriptor);
    FIELD(orders, Orders, compression);
    FIELD(orders, Orders, eviction);
    FIELD(orders, Orders, pager_cpu);
    FIELD(orders, Orders, far_store);
  }
  {
    const Layout answer("ANSWER", Orders::offset + offsetof(Orders, answers));
    FIELD(answer, Orders::Answer, generation);
    FIELD(answer, Orders::Answer, far_pages);
  }
  write("ANSWER_BYTES", sizeof(Orders::Answer));
}

void write_faults() {
  write("FAULT_EVENTS", all_fault_events);
  std::cout << "FAULT_MAGIC = b" << quoted(FaultRecordHead::expected_magic) << "\n";
  {
    const Layout head("FAULT_HEAD");
    FIELD(head, FaultRecordHead, magic);
    FIELD(head, FaultRecordHead, events);
    FIELD(head, FaultRecordHead, near_pages);
    FIELD(head, FaultRecordHead, policy);
  }
  write("FAULT_HEAD_BYTES", sizeof(FaultRecordHead));
}

void write_far_stores() {
  std::cout << "FAR_STORES = {\n";
#if NEARFAR_HAS_PAGER
  for (const FarStoreEntry& entry : far_stores())
    std::cout << "    " << quoted(entry.name) << ": (" << quoted(entry.usage) << ", "
              << quoted(name_of(entry.backing)) << ", " << quoted(entry.meaning) << "),\n";
#endif
  std::cout << "}\n";
  write("FAR_SLOTS", far_slots);
  write("CONTROL_BYTES", control_memory_bytes(far_slots));
}

void write_region() {
  {
    const Layout region("REGION");
#if NEARFAR_HAS_PAGER
    FIELD(region, Region, base);
    FIELD(region, Region, length);
    FIELD(region, Region, pages);
    FIELD(region, Region, groups);
    region.field<std::int32_t>("pagers", offsetof(Region, pagers));
#endif
  }
#if NEARFAR_HAS_PAGER
  write("REGION_PAGERS", std::tuple_size_v<decltype(Region::pagers)>);
  write("PAGE_GROUP", PageTable::group);
#else
  write("REGION_PAGERS", 0);
  write("PAGE_GROUP", 1);
#endif
  write("PAGE_ENTRY_BYTES", sizeof(Page));
  write("PAGE_STATE_AT", page_state_offset);
}

}  // namespace

int main() {
  std::cout << "\"\"\"Made by core/bindings/lists when the core is built.\"\"\"\n\n";
  write("COUNTS", all_counts);
  write("COMPRESSIONS", all_compressions);
  write("EVICTIONS", os::all_evictions);
  write("PAGER_CPUS", all_pager_cpus);
  write("RESIDENCES", all_residences);
  write_policies();
  write_far_stores();
  write_control();
  write_faults();
  write_region();
  return std::cout.good() ? 0 : 1;
}
