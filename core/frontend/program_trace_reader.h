#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/program_trace.h"

namespace nearfar::frontend {

/// Reads a trace of version 2 that arrives in pieces, cut anywhere, and has an engine do what is in
/// it. Throws InputError "NAME: event N: found ..., expected ..." for bytes that are no such trace;
/// what came before has been done.
class ProgramTraceReader {
 public:
  /// Called once, with the trace's header.
  using MakeEngine = std::function<std::unique_ptr<Engine>(const trace::Header&)>;

  /// What was read so far.
  struct Counts {
    std::array<std::uint64_t, program_events> events{};
    std::uint64_t instructions = 0;
    std::uint64_t loads = 0;
    std::uint64_t stores = 0;
    std::uint64_t marked_loads = 0;
    std::uint64_t frames_as_recorded = 0;  ///< pages that the engine has put where they were

    [[nodiscard]] std::uint64_t all_events() const;
    [[nodiscard]] std::uint64_t of(ProgramEvent event) const {
      return events[static_cast<std::size_t>(event)];
    }
  };

  ProgramTraceReader(std::string name, MakeEngine make)
      : name_(std::move(name)), make_(std::move(make)) {}

  void feed(std::string_view chunk);
  /// Throws InputError when the end is missing: the trace was cut off.
  void finish();

  [[nodiscard]] const std::string& header() const { return line_; }
  [[nodiscard]] const Counts& counts() const { return counts_; }
  /// There is one from the header on.
  [[nodiscard]] Engine* engine() { return engine_.get(); }

 private:
  class Cursor;
  struct Thread {
    std::uint64_t last = 0;  ///< address
    bool ended = false;
  };

  std::size_t read_header(std::string_view chunk);
  void read_event(Cursor& cursor);
  void read_end(Cursor& cursor);
  void apply(ProgramEvent event, Cursor& cursor);
  void apply_to_thread(ProgramEvent event, Cursor& cursor);
  void apply_to_memory(ProgramEvent event, Cursor& cursor);
  void define(Cursor& cursor);
  void run(Cursor& cursor);
  void choose_thread(Cursor& cursor);
  void begin_thread(Cursor& cursor);
  void check_frame(Cursor& cursor);
  void count(const sim::cpu::Block& block, std::span<const sim::cpu::Access> accesses);
  [[nodiscard]] Tick later(Tick from, std::uint64_t span) const;
  [[nodiscard]] Thread& running();
  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const;

  std::string name_;
  MakeEngine make_;
  std::string line_;  // the header
  std::string pending_;  // what has not been read
  std::unique_ptr<Engine> engine_;
  std::deque<sim::cpu::Block> blocks_;  // stay where they are
  std::uint64_t last_pc_ = 0;
  std::vector<Thread> threads_;
  std::uint64_t thread_ = 0;
  std::vector<sim::cpu::Access> accesses_;
  std::unordered_map<std::uint64_t, std::uint64_t> placed_;  // frames by page, as in an event
  Counts counts_;
  bool ended_ = false;
};

}  // namespace nearfar::frontend
