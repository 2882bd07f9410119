#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/reader.h"
#include "trace/writer.h"

namespace nearfar::trace {

// gem5's packet traces (src/proto/packet.proto, as its CommMonitor writes and its traffic
// generator reads them): the bytes "gem5", then messages in protobuf's encoding, each behind its
// length as a varint: one PacketHeader, then a Packet for each request. The commands are those of
// MemCmd::Command in gem5 20 and later; ReadReq and WriteReq are the same in all versions.

inline constexpr std::string_view gem5_magic = "gem5";

class Gem5Reader final : public Reader {
 public:
  explicit Gem5Reader(std::string name) : Reader(std::move(name)) {}

  void feed(std::string_view chunk, std::vector<Record>& out) override;
  void finish(std::vector<Record>& out) override;

  [[nodiscard]] std::string_view format_name() const override { return "gem5"; }
  [[nodiscard]] Timing timing() const override { return {.absolute = true, .clock_ps = clock_ps_}; }
  [[nodiscard]] std::string place(std::uint64_t line) const override;

 private:
  void check_magic() const;
  void read_header(std::string_view message);
  void read_packet(std::string_view message, std::vector<Record>& out);
  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const;

  bool magic_ = false;
  bool in_header_ = true;
  bool any_ = false;
  std::uint64_t packets_ = 0;
  std::uint64_t clock_ps_ = 0;
  std::string partial_;
};

/// Writes reads and writes as ReadReq and WriteReq at ticks of a picosecond.
class Gem5Writer final : public Writer {
 public:
  /// `clock_ps`: the period of the records' cycles, > 0.
  explicit Gem5Writer(std::uint64_t clock_ps) : clock_ps_(clock_ps) {}

  void put(const Record& record, std::string& out) override;
  void finish(std::string& out) override;

 private:
  void begin(std::string& out);

  std::uint64_t clock_ps_;
  std::uint64_t cycle_ = 0;
  bool begun_ = false;
};

}  // namespace nearfar::trace
