// Traces of DynamoRIO's drmemtrace, as raw2trace leaves them: records of 12 bytes, type (2), size
// (2) and address (8), little-endian (clients/drcachesim/common/trace_entry.h, _trace_entry_t),
// from a header to a footer. Types are only ever added behind the last one, so traces of later
// versions are read as far as their types are known.
//
// An access carries the instructions since the thread's access before it. A prefetch that the
// program executes reads; one that a simulated cache issued is none of the program's. Addresses are
// virtual: markers that tell physical ones are skipped, as are all others.

#include <algorithm>
#include <map>

#include "base/error.h"
#include "trace/format.h"
#include "trace/reader.h"

namespace nearfar::trace {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t entry_bytes = 12;
constexpr std::uint64_t oldest_version = 2;
constexpr std::uint64_t most_flushed = 1024 * 1024;

enum Type : std::uint16_t {
  type_read = 0,
  type_write = 1,
  type_prefetch = 2,
  type_prefetch_instr = 9,
  type_instr = 10,
  type_instr_return = 16,
  type_instr_bundle = 17,
  type_instr_flush = 18,
  type_instr_flush_end = 19,
  type_data_flush = 20,
  type_data_flush_end = 21,
  type_thread = 22,
  type_header = 25,
  type_footer = 26,
  type_marker = 28,
  type_instr_maybe_fetch = 30,
  type_instr_sysenter = 31,
  type_prefetch_read_l1_nt = 32,
  type_prefetch_write_l3_nt = 46,
  type_instr_taken_jump = 48,
  type_instr_untaken_jump = 49,
};

struct Entry {
  std::uint16_t type;
  std::uint16_t size;
  std::uint64_t address;
};

std::uint64_t number(const char* bytes, int count) {
  std::uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

bool is_instruction(std::uint16_t type) {
  return (type >= type_instr && type <= type_instr_return) || type == type_instr_maybe_fetch ||
         type == type_instr_sysenter || type == type_instr_taken_jump ||
         type == type_instr_untaken_jump;
}

bool is_prefetch(std::uint16_t type) {
  return (type >= type_prefetch && type <= type_prefetch_instr) ||
         (type >= type_prefetch_read_l1_nt && type <= type_prefetch_write_l3_nt);
}

class MemtraceReader final : public Reader {
 public:
  using Reader::Reader;

  void feed(std::string_view chunk, std::vector<Record>& out) override;
  void finish(std::vector<Record>& out) override;

  [[nodiscard]] std::string_view format_name() const override { return "memtrace"; }
  [[nodiscard]] Timing timing() const override {
    return {.kind = Kind::program, .counts = Counts::instructions};
  }
  [[nodiscard]] std::string place(std::uint64_t line) const override {
    return name() + ": record " + std::to_string(line) + ": ";
  }

 private:
  void read_entry(const char* bytes, std::vector<Record>& out);
  void read_access(const Entry& entry, Access access, std::vector<Record>& out);
  void flush_to(std::uint64_t end, std::vector<Record>& out);
  void change_thread(std::uint64_t id);
  void append(Record record, std::vector<Record>& out);
  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const {
    throw InputError(place(entries_) + "found " + found + ", expected " + expected);
  }

  std::string partial_;
  std::uint64_t entries_ = 0;
  bool ended_ = false;
  bool any_ = false;
  std::uint64_t flushed_from_ = 0;  // of a flush whose end follows
  std::map<std::uint64_t, std::uint16_t> threads_;  // by their ids, in order of appearance
  std::vector<std::uint64_t> gaps_{0};  // of each thread
  std::uint16_t thread_ = 0;
};

void MemtraceReader::feed(std::string_view chunk, std::vector<Record>& out) {
  if (!partial_.empty()) {
    const std::size_t missing = std::min(entry_bytes - partial_.size(), chunk.size());
    partial_ += chunk.substr(0, missing);
    chunk.remove_prefix(missing);
    if (partial_.size() < entry_bytes) return;
    read_entry(partial_.data(), out);
    partial_.clear();
  }
  while (chunk.size() >= entry_bytes) {
    read_entry(chunk.data(), out);
    chunk.remove_prefix(entry_bytes);
  }
  partial_ = chunk;
}

void MemtraceReader::read_entry(const char* bytes, std::vector<Record>& out) {
  ++entries_;
  const Entry entry{.type = static_cast<std::uint16_t>(number(bytes, 2)),
                    .size = static_cast<std::uint16_t>(number(bytes + 2, 2)),
                    .address = number(bytes + 4, 8)};
  if (ended_) refuse("data after the footer", "nothing");
  if (entries_ == 1 && (entry.type != type_header || entry.address < oldest_version)) {
    refuse("type " + std::to_string(entry.type) + " with value " + std::to_string(entry.address),
           "a header (25) of version 2 or later, as drraw2trace writes");
  }
  if (is_instruction(entry.type)) {
    ++gaps_[thread_];
  } else if (is_prefetch(entry.type) || entry.type == type_read) {
    read_access(entry, Access::read, out);
  } else if (entry.type == type_write) {
    read_access(entry, Access::write, out);
  } else if (entry.type == type_instr_bundle) {
    gaps_[thread_] += entry.size;
  } else if (entry.type == type_data_flush) {
    flushed_from_ = entry.address;
    if (entry.size != 0) flush_to(entry.address + entry.size, out);
  } else if (entry.type == type_data_flush_end) {
    flush_to(entry.address, out);
  } else if (entry.type == type_thread) {
    change_thread(entry.address);
  } else if (entry.type == type_footer) {
    ended_ = true;
  } else if (entry.type > type_instr_untaken_jump) {
    refuse("type " + std::to_string(entry.type), "one up to 49, the last that is known");
  }
}

void MemtraceReader::read_access(const Entry& entry, Access access, std::vector<Record>& out) {
  if (entry.size > max_access_bytes) {
    refuse("a size of " + std::to_string(entry.size), "at most 4096 bytes");
  }
  append({.address = Address(entry.address),
          .size = std::max<std::uint32_t>(entry.size, 1),
          .access = access},
         out);
}

void MemtraceReader::flush_to(std::uint64_t end, std::vector<Record>& out) {
  if (end < flushed_from_ || end - flushed_from_ > most_flushed) {
    refuse("a flush that ends at " + std::to_string(end),
           "at most a mebibyte from " + std::to_string(flushed_from_));
  }
  while (flushed_from_ < end) {
    const std::uint64_t bytes = std::min<std::uint64_t>(end - flushed_from_, max_access_bytes);
    append({.address = Address(flushed_from_),
            .size = static_cast<std::uint32_t>(bytes),
            .access = Access::flush},
           out);
    flushed_from_ += bytes;
  }
}

void MemtraceReader::change_thread(std::uint64_t id) {
  constexpr std::size_t most = 0xffff;  // 65535 itself is that of lines that a policy moves
  const auto [entry, fresh] = threads_.try_emplace(id, static_cast<std::uint16_t>(threads_.size()));
  if (fresh && threads_.size() > most) {
    refuse("more than 65535 threads", "fewer");
  }
  thread_ = entry->second;
  if (thread_ >= gaps_.size()) gaps_.resize(thread_ + std::size_t{1});
}

void MemtraceReader::append(Record record, std::vector<Record>& out) {
  record.cycles = gaps_[thread_];
  record.line = entries_;
  record.thread = thread_;
  gaps_[thread_] = 0;
  any_ = true;
  out.push_back(record);
}

void MemtraceReader::finish(std::vector<Record>&) {
  if (!ended_) {
    throw InputError(name() + ": found the end of the file after " + std::to_string(entries_) +
                     " records, expected a footer: the trace was cut off");
  }
  if (!partial_.empty()) {
    throw InputError(name() + ": found " + std::to_string(partial_.size()) +
                     " bytes after the footer, expected nothing");
  }
  if (!any_) throw InputError(name() + ": found no access in it, expected records of drmemtrace");
}

std::unique_ptr<Reader> open(std::string name) {
  return std::make_unique<MemtraceReader>(std::move(name));
}

}  // namespace

extern const Format memtrace = {
    .name = "memtrace",
    .syntax = "12 bytes a record of DynamoRIO's drmemtrace",
    .magic = "\x19\0\0\0"sv,
    .complete = false,
    .open = open,
};

}  // namespace nearfar::trace
