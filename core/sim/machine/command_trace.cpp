#include "sim/machine/command_trace.h"

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace nearfar::sim {
namespace {

constexpr std::string_view header =
    "time_ps,device,channel,rank,bank_group,bank,command,row,column\n";

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;
/// Room for the numbers, names and commas of a row, besides the device's name.
constexpr std::size_t row_bytes = 96;

/// What a command says on the bus besides its rank.
struct Operands {
  bool bank = false;
  bool group = bank;  ///< REFSB goes to a bank of every group
  bool row = false;
  bool column = false;
};

Operands operands_of(dram::Command command) {
  switch (command) {
    case dram::Command::act:
      return {.bank = true, .row = true};
    case dram::Command::pre:
      return {.bank = true};
    case dram::Command::rd:
    case dram::Command::rda:
    case dram::Command::wr:
    case dram::Command::wra:
      return {.bank = true, .column = true};
    case dram::Command::refsb:
      return {.bank = true, .group = false};
    case dram::Command::prea:
    case dram::Command::ref:
    case dram::Command::pde:
    case dram::Command::pdx:
    case dram::Command::sre:
    case dram::Command::srx:
      break;
  }
  return {};
}

/// Writes fields into a buffer that is known to be large enough.
class Row {
 public:
  explicit Row(char* begin) : end_(begin) {}

  void text(std::string_view value) {
    std::memcpy(end_, value.data(), value.size());
    end_ += value.size();
  }
  void number(std::uint64_t value) { end_ = std::to_chars(end_, end_ + 20, value).ptr; }
  void number_if(bool applies, std::uint64_t value) {
    if (applies) number(value);
  }
  void comma() { *end_++ = ','; }
  void newline() { *end_++ = '\n'; }

  [[nodiscard]] char* end() const { return end_; }

 private:
  char* end_;
};

}  // namespace

class CommandTrace::DeviceLog final : public dram::CommandLog {
 public:
  DeviceLog(CommandTrace& trace, std::string device) : trace_(trace), device_(std::move(device)) {}
  void record(const dram::CommandRecord& record) override { trace_.append(device_, record); }

 private:
  CommandTrace& trace_;
  std::string device_;
};

CommandTrace::CommandTrace(std::filesystem::path path)
    : path_(std::move(path)), written_path_(path_), buffer_(buffer_bytes) {
  const auto status = std::filesystem::status(path_);
  if (std::filesystem::is_directory(status)) {
    throw InputError(path_.string() + ": is a folder, expected a file to write commands to");
  }
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) {
    written_path_ += ".partial";
  }
  file_.reset(std::fopen(written_path_.c_str(), "wb"));
  if (!file_) {
    throw InputError(path_.string() +
                     ": cannot be written: " + std::generic_category().message(errno));
  }
  std::setvbuf(file_.get(), nullptr, _IONBF, 0);  // buffer_ is the only buffer
  std::memcpy(buffer_.data(), header.data(), header.size());
  used_ = header.size();
}

CommandTrace::~CommandTrace() {
  if (written_path_ == path_) return;
  file_.reset();
  std::error_code ignored;
  std::filesystem::remove(written_path_, ignored);
}

dram::CommandLog& CommandTrace::log_for(std::string device) {
  logs_.push_back(std::make_unique<DeviceLog>(*this, std::move(device)));
  return *logs_.back();
}

void CommandTrace::append(std::string_view device, const dram::CommandRecord& record) {
  if (buffer_.size() - used_ < row_bytes + device.size()) flush();
  const Operands operands = operands_of(record.command);
  Row row(buffer_.data() + used_);
  row.number(record.time.ps());
  row.comma();
  row.text(device);
  row.comma();
  row.number(record.channel);
  row.comma();
  row.number(record.rank);
  row.comma();
  row.number_if(operands.group, record.bank_group);
  row.comma();
  row.number_if(operands.bank, record.bank);
  row.comma();
  row.text(dram::name(record.command));
  row.comma();
  row.number_if(operands.row, record.row);
  row.comma();
  row.number_if(operands.column, record.column);
  row.newline();
  used_ = static_cast<std::size_t>(row.end() - buffer_.data());
}

void CommandTrace::flush() {
  if (!file_) throw std::logic_error(path_.string() + ": a command after the trace was closed");
  const std::size_t written = std::fwrite(buffer_.data(), 1, used_, file_.get());
  if (written != used_) fail(errno);
  used_ = 0;
}

void CommandTrace::close() {
  if (!file_) return;
  flush();
  buffer_.clear();  // the next command asks for room, and finds no file
  if (std::fclose(file_.release()) != 0) fail(errno);
  if (written_path_ == path_) return;
  std::error_code error;
  std::filesystem::rename(written_path_, path_, error);
  if (error) fail(error.value());
  written_path_ = path_;
}

void CommandTrace::fail(int error) const {
  throw std::system_error(error, std::generic_category(),
                          path_.string() + ": the command trace cannot be written");
}

}  // namespace nearfar::sim
