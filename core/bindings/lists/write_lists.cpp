// Writes the Python module nearfar._lists: the lists that both languages share, and where things
// lie in memory and files that a program on two tiers shares with its launcher. A module that is
// made when the core is built, and not a binding: it is read where the core may not be loaded (by
// `results`, and by the command line before it knows what to do).
//
// Far memory and the pager are compiled for Linux on x86-64 alone; elsewhere their lists are empty.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/named.h"
#include "policy/offline/detector.h"
#include "policy/registry.h"
#include "sim/machine/machine.h"
#include "tier/far/chunks.h"
#include "tier/far/compression.h"
#include "tier/os/eviction.h"
#include "tier/pager/fault_record.h"
#include "tier/service/pager_cpu.h"
#include "tier/tree/control.h"
#include "tier/tree/flat_control.h"
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
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
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

/// One field of a struct: its name, its offset, and its code.
struct Field {
  std::string_view name;
  std::size_t offset;
  char code;
};
#define FIELD(type, name) \
  Field { #name, offsetof(type, name), Code<decltype(type::name)>::of() }
// Where others begin that have a layout of their own.
#define ARRAY(type, name) Field{#name, offsetof(type, name), 'B'}

/// The module, as it is written.
class Module {
 public:
  explicit Module(const char* file) : out_(file) {
    out_ << "\"\"\"Made by core/bindings/lists when the core is built.\"\"\"\n\n";
  }

  void value(std::string_view name, std::uint64_t value) { out_ << name << " = " << value << "\n"; }
  void text(std::string_view name, std::string_view value) {
    out_ << name << " = " << quoted(value) << "\n";
  }
  void bytes(std::string_view name, std::string_view value) {
    out_ << name << " = b" << quoted(value) << "\n";
  }
  void names(std::string_view name, std::span<const std::string_view> list) {
    out_ << name << " = (\n";
    for (const std::string_view entry : list) out_ << "    " << quoted(entry) << ",\n";
    out_ << ")\n";
  }
  void list(std::string_view name, std::span<const Named> list) {
    out_ << name << " = {\n";
    for (const Named& entry : list)
      out_ << "    " << quoted(entry.name) << ": " << quoted(entry.meaning) << ",\n";
    out_ << "}\n";
  }
  /// `at`: where the struct lies in what is shared.
  void layout(std::string_view name, std::initializer_list<Field> fields, std::size_t at = 0) {
    out_ << name << " = {\n";
    for (const Field& field : fields)
      out_ << "    " << quoted(field.name) << ": (" << at + field.offset << ", \"" << field.code
           << "\"),\n";
    out_ << "}\n";
  }
  void far_stores();

  /// False if not all of it could be written.
  [[nodiscard]] bool close() {
    out_.close();
    return out_.good();
  }

 private:
  std::ofstream out_;
};

void Module::far_stores() {
  out_ << "FAR_STORES = {\n";
#if NEARFAR_HAS_PAGER
  for (const FarStoreEntry& entry : tier::far_stores())
    out_ << "    " << quoted(entry.name) << ": (" << quoted(entry.usage) << ", "
         << quoted(name_of(entry.backing)) << ", " << quoted(entry.meaning) << "),\n";
#endif
  out_ << "}\n";
}

template <typename Entry>
std::vector<std::string_view> names_of(std::span<const Entry> family) {
  std::vector<std::string_view> names;
  names.reserve(family.size());
  for (const Entry& entry : family) names.push_back(entry.name);
  return names;
}

void write_policies(Module& module) {
  module.names("POLICIES", names_of(policy::replacements()));
  module.text("DEFAULT_POLICY", policy::replacements()[policy::default_replacement()].name);
  module.names("PLACEMENT_POLICIES", names_of(policy::placements()));
  module.names("ORACLES", names_of(policy::oracles()));
  module.names("DETECTORS", {policy::detector_names.begin(), policy::detector_names.end()});
}

void write_counts(Module& module) {
  module.list("COUNTS", all_counts);
  std::vector<std::string_view> peaks;
  for (std::size_t i = 0; i < number_of_counts; ++i)
    if (is_peak(static_cast<Count>(i))) peaks.emplace_back(all_counts[i].name);
  module.names("PEAKS", peaks);
}

void write_control(Module& module) {
  module.value("CONTROL_MAGIC", Control::expected_magic);
  module.layout(
      "CONTROL",
      {FIELD(Control, magic), FIELD(Control, limit_pages), FIELD(Control, far_slots),
       FIELD(Control, policy), FIELD(Control, fault_log), FIELD(Control, near_total),
       FIELD(Control, managed_total), FIELD(Control, slots_used), FIELD(Control, counts),
       FIELD(Control, members_end), FIELD(Control, stored_bytes), ARRAY(Control, members)});
  module.layout("MEMBER",
                {FIELD(Member, process), FIELD(Member, near_pages), FIELD(Member, managed_pages),
                 FIELD(Member, pager_thread), FIELD(Member, region), FIELD(Member, flat_near)});
  module.value("MEMBER_BYTES", sizeof(Member));
  module.layout(
      "ORDERS",
      {FIELD(Orders, generation), FIELD(Orders, residence), FIELD(Orders, latency_ps),
       FIELD(Orders, transfer_ps), FIELD(Orders, owner), FIELD(Orders, control_descriptor),
       FIELD(Orders, far_descriptor), FIELD(Orders, bell_descriptor), FIELD(Orders, compression),
       FIELD(Orders, eviction), FIELD(Orders, pager_cpu), FIELD(Orders, far_store),
       ARRAY(Orders, answers)},
      Orders::offset);
  module.layout(
      "FLAT",
      {FIELD(FlatControl, policy_plus_one), FIELD(FlatControl, detector),
       FIELD(FlatControl, near_node), FIELD(FlatControl, far_node), FIELD(FlatControl, interval_ns),
       FIELD(FlatControl, pairs), FIELD(FlatControl, share), FIELD(FlatControl, near_pages),
       FIELD(FlatControl, far_pages)},
      FlatControl::offset);
  module.value("FLAT_WHOLE_SHARE", FlatControl::whole_share);
  module.layout("ANSWER", {FIELD(Orders::Answer, generation), FIELD(Orders::Answer, far_pages)});
  module.value("ANSWER_BYTES", sizeof(Orders::Answer));
}

void write_faults(Module& module) {
  module.list("FAULT_EVENTS", all_fault_events);
  module.bytes("FAULT_MAGIC", FaultRecordHead::expected_magic);
  module.layout("FAULT_HEAD", {FIELD(FaultRecordHead, magic), FIELD(FaultRecordHead, events),
                               FIELD(FaultRecordHead, near_pages), FIELD(FaultRecordHead, policy)});
  module.value("FAULT_HEAD_BYTES", sizeof(FaultRecordHead));
}

/// What lies in a managed process's own memory, and how much a tree shares.
void write_memory(Module& module) {
#if NEARFAR_HAS_PAGER
  module.layout("REGION", {FIELD(Region, base), FIELD(Region, length), FIELD(Region, pages),
                           FIELD(Region, groups),
                           Field{"pagers", offsetof(Region, pagers), Code<std::int32_t>::of()}});
  module.value("REGION_PAGERS", std::tuple_size_v<decltype(Region::pagers)>);
  module.value("PAGE_GROUP", PageTable::group);
  module.value("FAR_SLOTS", tier::far_slots);
  module.value("CONTROL_BYTES", control_memory_bytes(tier::far_slots));
#else
  module.layout("REGION", {});
  for (const char* name : {"REGION_PAGERS", "PAGE_GROUP", "FAR_SLOTS", "CONTROL_BYTES"})
    module.value(name, 0);
#endif
  module.value("PAGE_ENTRY_BYTES", sizeof(Page));
  module.value("PAGE_STATE_AT", page_state_offset);
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  Module module(words[1]);
  write_counts(module);
  module.list("COMPRESSIONS", all_compressions);
  module.list("EVICTIONS", os::all_evictions);
  module.list("PAGER_CPUS", all_pager_cpus);
  module.list("RESIDENCES", all_residences);
  write_policies(module);
  module.names("MACHINE_KINDS", sim::Machine::kinds());
  module.far_stores();
  write_control(module);
  write_faults(module);
  write_memory(module);
  return module.close() ? 0 : 1;
}
