#include <algorithm>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/frames.h"
#include "frontend/program_trace.h"
#include "trace/packed.h"
#include "trace/varint.h"

namespace nearfar::frontend {
namespace {

using trace::append_varint;
using trace::zigzag;

/// The bytes of a trace of version 2.
class ProgramTraceWriter {
 public:
  using Take = std::function<void(std::string_view piece, std::uint64_t events)>;

  ProgramTraceWriter(trace::Header header, Take take) : take_(std::move(take)) {
    header.version = 2;
    header.timing.kind = trace::Kind::program;
    header.timing.counts = trace::Counts::instructions;
    piece_ = trace::header_line(header);
  }

  /// An event that is of no thread.
  void put(ProgramEvent event, std::initializer_list<std::uint64_t> numbers = {}) {
    if (piece_.size() >= trace::PackedWriter::frame_bytes) flush();
    piece_ += static_cast<char>(event);
    for (const std::uint64_t number : numbers) append_varint(piece_, number);
    ++events_;
  }
  void put_of(Engine::Thread thread, ProgramEvent event,
              std::initializer_list<std::uint64_t> numbers = {}) {
    if (thread != thread_) {
      put(ProgramEvent::thread, {thread});
      thread_ = thread;
    }
    put(event, numbers);
  }

  void put_run(Engine::Thread thread, const sim::cpu::Block& block,
               std::span<const sim::cpu::Access> accesses) {
    const std::uint64_t number = number_of(block);
    put_of(thread, ProgramEvent::run, {number, accesses.size()});
    if (thread >= last_.size()) last_.resize(thread + std::size_t{1});
    std::uint64_t& last = last_[thread];
    std::uint64_t instruction = 0;
    for (const sim::cpu::Access& access : accesses) {
      const std::uint64_t what = (access.store ? 1u : 0u) | (access.pointer ? 2u : 0u);
      append_varint(piece_, zigzag(access.instruction - instruction) << 2 | what);
      append_varint(piece_, access.size);
      append_varint(piece_, zigzag(access.address - last));
      instruction = access.instruction;
      last = access.address;
    }
  }

  void flush() {
    if (events_ == 0 || piece_.empty()) return;
    take_(piece_, events_);
    piece_.clear();
  }

 private:
  std::uint64_t number_of(const sim::cpu::Block& block) {
    const auto [place, added] = numbers_.try_emplace(&block, numbers_.size());
    if (!added) return place->second;
    put(ProgramEvent::block,
        {zigzag(block.pc - last_pc_), block.next - block.pc, zigzag(block.target - block.pc),
         static_cast<unsigned>(block.end), block.instructions.size()});
    last_pc_ = block.pc;
    for (const sim::cpu::Instruction& one : block.instructions) {
      piece_ += static_cast<char>(one.kind);
      piece_ += static_cast<char>(one.latency);
      piece_ += static_cast<char>(one.uops);
      piece_ += static_cast<char>(one.jumps);
      piece_.append(one.sources.begin(), one.sources.end());
      piece_.append(one.address_sources.begin(), one.address_sources.end());
      piece_.append(one.destinations.begin(), one.destinations.end());
    }
    return place->second;
  }

  Take take_;
  std::string piece_;
  std::uint64_t events_ = 0;
  Engine::Thread thread_ = 0;
  std::uint64_t last_pc_ = 0;
  std::unordered_map<const sim::cpu::Block*, std::uint64_t> numbers_;
  std::vector<std::uint64_t> last_;  // the last address of each thread
};

class RecordingEngine final : public Engine {
 public:
  RecordingEngine(std::unique_ptr<Engine> inner, trace::Header header,
                  ProgramTraceWriter::Take take)
      : inner_(std::move(inner)), writer_(std::move(header), std::move(take)) {
    inner_->watch_pages([this](std::uint64_t page, bool huge, Address frame) {
      writer_.put(ProgramEvent::frame,
                  {page / Frames::small << 1 | (huge ? 1u : 0u), frame.value() / Frames::small});
    });
  }

  Thread add_thread(Tick at) override {
    Tick last{};
    for (Thread thread = 0; thread < threads_; ++thread) last = max(last, inner_->clock(thread));
    writer_.put(ProgramEvent::begins, {zigzag(at.ps() - last.ps())});
    ++threads_;
    return inner_->add_thread(at);
  }
  void end_thread(Thread thread) override {
    writer_.put_of(thread, ProgramEvent::ends);
    inner_->end_thread(thread);
  }
  void run(Thread thread, const sim::cpu::Block& block,
           std::span<const sim::cpu::Access> accesses) override {
    writer_.put_run(thread, block, accesses);
    inner_->run(thread, block, accesses);
  }
  void skip(Thread thread, std::uint64_t instructions) override {
    writer_.put_of(thread, ProgramEvent::skips, {instructions});
    inner_->skip(thread, instructions);
  }
  void leave(Thread thread) override {
    writer_.put_of(thread, ProgramEvent::leaves);
    inner_->leave(thread);
  }
  void come_back(Thread thread, Tick at) override {
    const Tick clock = inner_->clock(thread);
    writer_.put_of(thread, ProgramEvent::returns, {at > clock ? (at - clock).ps() : 0});
    inner_->come_back(thread, at);
  }
  [[nodiscard]] Tick now(Thread thread) override {
    writer_.put_of(thread, ProgramEvent::looks);
    return inner_->now(thread);
  }
  [[nodiscard]] Tick clock(Thread thread) const override { return inner_->clock(thread); }
  [[nodiscard]] bool ahead(Thread thread, Tick slowest) const override {
    return inner_->ahead(thread, slowest);
  }

  void mapped(Address address, Bytes bytes, Mapping kind) override {
    writer_.put(ProgramEvent::maps, {address.value(), bytes, static_cast<unsigned>(kind)});
    inner_->mapped(address, bytes, kind);
  }
  void unmapped(Address address, Bytes bytes) override {
    writer_.put(ProgramEvent::unmaps, {address.value(), bytes});
    inner_->unmapped(address, bytes);
  }
  void remapped(Address from, Bytes from_bytes, Address to, Bytes to_bytes) override {
    writer_.put(ProgramEvent::remaps, {from.value(), from_bytes, to.value(), to_bytes});
    inner_->remapped(from, from_bytes, to, to_bytes);
  }
  void flush_range(Thread thread, Address address, Bytes bytes) override {
    for (Bytes done = 0; done < bytes; done += most_flushed) {
      writer_.put_of(thread, ProgramEvent::flushes,
                     {(address + done).value(), std::min(bytes - done, most_flushed)});
    }
    inner_->flush_range(thread, address, bytes);
  }

  void begin_region() override {
    writer_.put(ProgramEvent::begins_region);
    inner_->begin_region();
  }
  void end_region() override {
    writer_.put(ProgramEvent::ends_region);
    inner_->end_region();
  }
  void flush_trace() override { writer_.flush(); }
  void report(std::ostream& out) override { inner_->report(out); }

 private:
  std::unique_ptr<Engine> inner_;
  ProgramTraceWriter writer_;
  Thread threads_ = 0;
};

}  // namespace

std::unique_ptr<Engine> make_recording_engine(
    std::unique_ptr<Engine> inner, trace::Header header,
    std::function<void(std::string_view piece, std::uint64_t events)> take) {
  return std::make_unique<RecordingEngine>(std::move(inner), std::move(header), std::move(take));
}

}  // namespace nearfar::frontend
