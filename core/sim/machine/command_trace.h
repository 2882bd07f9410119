#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/dram/command.h"

namespace nearfar::sim {

/// Writes every DRAM command of a machine as CSV:
///
///     time_ps,device,channel,rank,bank_group,bank,command,row,column
///
/// A field that a command does not have on the bus is blank (JESD79-4, command truth
/// table): ACT has a row and no column, RD and WR a column and no row, PREA, REF, PDE,
/// PDX, SRE and SRX address a rank. Rows of one device and channel are in time order;
/// several devices interleave as the simulation advances them.
///
/// A file appears under its name when close() succeeds, and not at all otherwise: until
/// then it grows beside it as PATH.partial. What is not a regular file (a pipe, a
/// terminal) is written directly.
class CommandTrace {
 public:
  /// Throws InputError when the file cannot be created.
  explicit CommandTrace(std::filesystem::path path);
  ~CommandTrace();
  CommandTrace(const CommandTrace&) = delete;
  CommandTrace& operator=(const CommandTrace&) = delete;

  /// A log for one device's DRAM; `device` names that device ("dram", "nvdimm") and fills
  /// that column. It lives as long as the trace. Logging throws std::system_error when
  /// the file cannot be written any further.
  [[nodiscard]] dram::CommandLog& log_for(std::string device);

  /// Writes what is buffered and puts the file in its place. Throws std::system_error
  /// when that fails. Logging afterwards is std::logic_error.
  void close();

 private:
  class DeviceLog;

  void append(std::string_view device, const dram::CommandRecord& record);
  void flush();
  [[noreturn]] void fail(int error) const;

  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::filesystem::path path_;
  std::filesystem::path written_path_;  // differs from path_ until a regular file is in place
  std::unique_ptr<std::FILE, CloseFile> file_;
  std::vector<std::unique_ptr<DeviceLog>> logs_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
};

}  // namespace nearfar::sim
