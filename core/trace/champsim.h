#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/reader.h"
#include "trace/writer.h"

namespace nearfar::trace {

/// Reads ChampSim's binary traces: one record of 64 bytes an instruction, little-endian, without
/// a header or anything to tell them by. An instruction's reads (source memory) come before its
/// writes (destination memory); an address of 0 is no access. Sizes are not recorded.
class ChampSimReader final : public Reader {
 public:
  explicit ChampSimReader(std::string name) : Reader(std::move(name)) {}

  void feed(std::string_view chunk, std::vector<Record>& out) override;
  void finish(std::vector<Record>& out) override;

  [[nodiscard]] std::string_view format_name() const override { return "champsim"; }
  [[nodiscard]] Timing timing() const override {
    return {.kind = Kind::program, .counts = Counts::instructions};
  }
  [[nodiscard]] std::string place(std::uint64_t line) const override;

 private:
  void read_instruction(const char* bytes, std::vector<Record>& out);

  std::uint64_t instructions_ = 0;
  std::uint64_t gap_ = 0;  // instructions since the last access
  bool any_ = false;
  std::string partial_;
};

/// Writes ChampSim's traces. Instructions without an access fill the gaps. Accesses without an
/// instruction between them share one as far as it has room, which is four reads and then two
/// writes. Sizes are lost. All instructions stand at address 0, as our records do not hold theirs.
class ChampSimWriter final : public Writer {
 public:
  void put(const Record& record, std::string& out) override;
  void finish(std::string& out) override;

 private:
  [[nodiscard]] bool has_room(Access access) const;

  std::string instruction_;  // the last one, which may get more accesses; empty before the first
  std::size_t reads_ = 0;
  std::size_t writes_ = 0;
  std::uint64_t cycle_ = 0;  // of absolute times
};

}  // namespace nearfar::trace
