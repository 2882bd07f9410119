#include "trace/gem5.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "trace/format.h"
#include "trace/header.h"
#include "trace/varint.h"

namespace nearfar::trace {
namespace {

constexpr std::uint64_t ticks_a_second = 1'000'000'000'000;
constexpr std::uint64_t max_message_bytes = 1024 * 1024;

constexpr std::uint64_t read_request = 1;
constexpr std::uint64_t write_request = 4;

/// The access that a command makes; none if it moves no data to or from memory, or is no request.
struct Command {
  std::uint64_t number;
  std::optional<Access> access;
};
constexpr std::array commands = {
    Command{read_request, Access::read},
    Command{write_request, Access::write},
    Command{7, Access::write},   // WritebackDirty
    Command{8, std::nullopt},    // WritebackClean
    Command{9, Access::write},   // WriteClean
    Command{10, std::nullopt},   // CleanEvict
    Command{11, Access::read},   // SoftPFReq
    Command{12, Access::read},   // SoftPFExReq
    Command{13, Access::read},   // HardPFReq
    Command{16, Access::write},  // WriteLineReq
    Command{17, std::nullopt},   // UpgradeReq
    Command{22, Access::read},   // ReadExReq
    Command{24, Access::read},   // ReadCleanReq
    Command{25, Access::read},   // ReadSharedReq
};

/// Takes a varint from the front of `text`; nothing when it does not end there.
std::optional<std::uint64_t> take_varint(std::string_view& text) {
  std::array<char, max_varint_bytes> bytes{};
  std::copy_n(text.begin(), std::min(text.size(), bytes.size()), bytes.begin());
  const char* at = bytes.data();
  std::uint64_t value = 0;
  if (!read_varint(at, value)) return std::nullopt;
  const auto used = static_cast<std::size_t>(at - bytes.data());
  if (used > text.size()) return std::nullopt;
  text.remove_prefix(used);
  return value;
}

/// The numbers of a message in its fields below 8; other fields are skipped. Nothing when the bytes
/// are no message.
std::optional<std::array<std::optional<std::uint64_t>, 8>> numbers_of(std::string_view message) {
  enum : std::uint64_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
  std::array<std::optional<std::uint64_t>, 8> numbers;
  while (!message.empty()) {
    const auto key = take_varint(message);
    if (!key) return std::nullopt;
    std::uint64_t skip = 0;
    switch (*key & 7) {
      case varint: {
        const auto value = take_varint(message);
        if (!value) return std::nullopt;
        if (*key >> 3 < numbers.size()) numbers[*key >> 3] = value;
        break;
      }
      case fixed64:
        skip = 8;
        break;
      case fixed32:
        skip = 4;
        break;
      case bytes: {
        const auto length = take_varint(message);
        if (!length) return std::nullopt;
        skip = *length;
        break;
      }
      default:
        return std::nullopt;
    }
    if (skip > message.size()) return std::nullopt;
    message.remove_prefix(skip);
  }
  return numbers;
}

void append_number(std::string& message, unsigned field, std::uint64_t value) {
  append_varint(message, field << 3);
  append_varint(message, value);
}

void append_message(std::string& out, const std::string& message) {
  append_varint(out, message.size());
  out += message;
}

}  // namespace

std::string Gem5Reader::place(std::uint64_t line) const {
  return name() + ": packet " + std::to_string(line) + ": ";
}

void Gem5Reader::refuse(const std::string& found, const std::string& expected) const {
  throw InputError(place(packets_) + "found " + found + ", expected " + expected);
}

void Gem5Reader::check_magic() const {
  const std::string_view start = std::string_view(partial_).substr(0, gem5_magic.size());
  if (gem5_magic.starts_with(start)) return;
  throw InputError(name() + ": found " + quoted(start) + ", expected 'gem5' at its start");
}

void Gem5Reader::feed(std::string_view chunk, std::vector<Record>& out) {
  partial_ += chunk;
  std::string_view rest = partial_;
  if (!magic_) {
    if (rest.size() < gem5_magic.size()) return;
    check_magic();
    magic_ = true;
    rest.remove_prefix(gem5_magic.size());
  }
  while (!rest.empty()) {
    std::string_view message = rest;
    const auto length = take_varint(message);
    if (!length && rest.size() < max_varint_bytes) break;
    if (!length || *length > max_message_bytes) {
      ++packets_;
      refuse("a message of " + (length ? std::to_string(*length) : "more than 2^64") + " bytes",
             "at most a mebibyte; the trace is damaged");
    }
    if (message.size() < *length) break;
    rest = message.substr(*length);
    message = message.substr(0, *length);
    if (in_header_) {
      read_header(message);
    } else {
      read_packet(message, out);
    }
  }
  partial_.erase(0, partial_.size() - rest.size());
}

void Gem5Reader::read_header(std::string_view message) {
  const auto numbers = numbers_of(message);
  const std::uint64_t frequency = numbers ? (*numbers)[3].value_or(0) : 0;
  if (frequency == 0 || ticks_a_second % frequency != 0) {
    throw InputError(name() + ": found " + std::to_string(frequency) +
                     " ticks a second in the header, expected ticks of whole picoseconds");
  }
  clock_ps_ = ticks_a_second / frequency;
  in_header_ = false;
}

void Gem5Reader::read_packet(std::string_view message, std::vector<Record>& out) {
  ++packets_;
  const auto numbers = numbers_of(message);
  if (!numbers) refuse(quoted(message), "a Packet message; the trace is damaged");
  const auto& [unused, tick, command, address, size, flags, id, pc] = *numbers;
  if (!tick || !command || !address || !size) {
    refuse("a message without tick, cmd, addr or size", "a Packet of gem5");
  }
  if (*size == 0 || *size > max_access_bytes) {
    refuse("a size of " + std::to_string(*size), "1 to 4096 bytes");
  }
  const auto* const known = std::find_if(commands.begin(), commands.end(),
                                         [&](const Command& c) { return c.number == *command; });
  if (known == commands.end()) {
    refuse("command " + std::to_string(*command),
           "a request that reads or writes memory, such as 1 (ReadReq) or 4 (WriteReq)");
  }
  if (!known->access) return;
  any_ = true;
  out.push_back({.address = Address(*address),
                 .cycles = *tick,
                 .line = packets_,
                 .size = static_cast<std::uint32_t>(*size),
                 .access = *known->access,
                 .absolute = true});
}

void Gem5Reader::finish(std::vector<Record>&) {
  if (!magic_) check_magic();
  if (!partial_.empty() || in_header_) {
    throw InputError(name() + ": found the end of the file inside " +
                     (in_header_ ? "the header" : "packet " + std::to_string(packets_ + 1)) +
                     ", expected the rest of it: the trace was cut off");
  }
  if (!any_) throw InputError(name() + ": found no access in it, expected packets of gem5");
}

void Gem5Writer::begin(std::string& out) {
  if (begun_) return;
  begun_ = true;
  constexpr std::string_view writer = "nearfar";
  std::string header("\x0a");  // field 1, bytes
  append_varint(header, writer.size());
  header += writer;
  append_number(header, 3, ticks_a_second);
  out += gem5_magic;
  append_message(out, header);
}

void Gem5Writer::put(const Record& record, std::string& out) {
  const bool in_words = record.access == Access::read || record.access == Access::write;
  cycle_ = record.absolute ? record.cycles : cycle_ + record.cycles;
  constexpr std::uint64_t latest = ~std::uint64_t{0};
  if (!in_words || record.blocks || cycle_ > latest / clock_ps_) {
    refuse_record(record, "a ReadReq or WriteReq", "gem5");
  }
  begin(out);
  std::string packet;
  append_number(packet, 1, cycle_ * clock_ps_);
  append_number(packet, 2, record.access == Access::read ? read_request : write_request);
  append_number(packet, 3, record.address.value());
  append_number(packet, 4, record.size);
  append_message(out, packet);
}

void Gem5Writer::finish(std::string& out) { begin(out); }

extern constexpr Format gem5 = {
    .name = "gem5",
    .syntax = "packets of gem5",
    .magic = gem5_magic,
    .clock = Clock::always,
    .open = [](std::string name) -> std::unique_ptr<Reader> {
      return std::make_unique<Gem5Reader>(std::move(name));
    },
    .create = [](const Header& header) -> std::unique_ptr<Writer> {
      return std::make_unique<Gem5Writer>(header.timing.clock_ps);
    },
};

}  // namespace nearfar::trace
