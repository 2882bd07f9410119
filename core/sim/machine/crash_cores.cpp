#include "sim/machine/crash_cores.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace nearfar::sim {

using persistence::Kind;

namespace {

/// A step of a core, about an instruction at 2 GHz. Order is what matters here; the memory's own
/// times decide when it accepts.
constexpr Tick pace{500};

}  // namespace

CrashCores::CrashCores(Device& memory, const persistence::Program& program, std::uint64_t seed)
    : memory_(memory),
      program_(program),
      rng_(seed),
      cores_(program.threads().size()),
      lines_(program.lines().size()),
      left_(program.size()),
      passed_(program.labels()) {}

bool CrashCores::step() {
  now_ += pace * (1 + rng_.below(8));
  memory_.advance(now_, sink_);
  collect();
  send();

  bool moved = in_flight_ > 0 || !to_send_.empty();
  const auto first = static_cast<std::uint32_t>(rng_.below(cores_.size()));
  for (std::uint32_t i = 0; i < cores_.size(); ++i) {
    const auto core = static_cast<std::uint32_t>((first + i) % cores_.size());
    // Not every core does everything at every moment, or all runs would be the same.
    if (rng_.below(2) == 0) moved |= issue(core);
    if (rng_.below(2) == 0) moved |= leave(core);
    if (rng_.below(4) == 0) moved |= combine(core);
  }
  if (rng_.below(8) == 0) moved |= evict();
  if (moved) return true;
  for (std::uint32_t core = 0; core < cores_.size(); ++core) {
    if (issue(core) || leave(core) || combine(core)) return true;
  }
  return evict();
}

bool CrashCores::issue(std::uint32_t number) {
  Core& core = cores_[number];
  const auto& operations = program_.threads()[number];
  if (core.next == operations.size()) return false;
  const std::uint32_t op = operations[core.next];
  const Kind kind = program_[op].kind;
  if (kind == Kind::await) {
    if (load(core, op) != program_[op].value) return false;
    left_[op] = true;
  } else if (kind == Kind::mfence || persistence::is_locked(kind)) {
    if (!core.buffer.empty() || !fenced(core)) return false;
    if (kind == Kind::compare_exchange && load(core, op) != program_[op].expected) return false;
    if (persistence::is_locked(kind)) {
      if (lines_[program_.line_of(op)].combined != nobody) return false;
      make_visible(op);
    }
    core.owed.clear();
    left_[op] = true;
  } else {
    core.buffer.push_back(op);
  }
  ++core.next;
  return true;
}

/// The oldest of the store buffer.
bool CrashCores::leave(std::uint32_t number) {
  Core& core = cores_[number];
  if (core.buffer.empty()) return false;
  const std::uint32_t op = core.buffer.front();
  const Kind kind = program_[op].kind;
  if (persistence::has_address(kind) && kind != Kind::nt_store) {
    const std::uint32_t line = program_.line_of(op);
    const auto same_line = [&](std::uint32_t other) { return program_.line_of(other) == line; };
    if (lines_[line].combined != nobody) return false;
    if (std::any_of(core.combining.begin(), core.combining.end(), same_line)) return false;
    if (kind == Kind::store) {
      make_visible(op);
    } else {
      if (lines_[line].accepted < lines_[line].visible) want(line);
      if (kind != Kind::clflush) core.owed.emplace_back(line, lines_[line].visible);
      if (kind == Kind::clflush && lines_[line].accepted < lines_[line].visible) return false;
    }
  } else if (kind == Kind::nt_store) {
    core.combining.push_back(op);
  } else if (kind == Kind::sfence) {
    if (!fenced(core)) return false;
    core.owed.clear();
  } else if (kind == Kind::label) {
    passed_[program_[op].value] = true;
  }
  core.buffer.pop_front();
  if (kind != Kind::nt_store) left_[op] = true;
  return true;
}

/// Some non-temporal store that may go: its line, with the new word, is to be written.
bool CrashCores::combine(std::uint32_t number) {
  const Core& core = cores_[number];
  if (core.combining.empty()) return false;
  const std::size_t first = rng_.below(core.combining.size());
  for (std::size_t i = 0; i < core.combining.size(); ++i) {
    const std::uint32_t op = core.combining[(first + i) % core.combining.size()];
    const std::uint32_t line = program_.line_of(op);
    if (lines_[line].combined != nobody || lines_[line].queued || !may_combine(core, op)) continue;
    lines_[line].combined = op;
    lines_[line].order.push_back(op);
    want(line);
    return true;
  }
  return false;
}

bool CrashCores::may_combine(const Core& core, std::uint32_t op) const {
  return std::none_of(core.combining.begin(), core.combining.end(), [&](std::uint32_t other) {
    return other < op && program_[other].address == program_[op].address;
  });
}

bool CrashCores::evict() {
  const std::size_t first = rng_.below(lines_.size());
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const auto line = static_cast<std::uint32_t>((first + i) % lines_.size());
    if (lines_[line].queued || lines_[line].accepted == lines_[line].visible) continue;
    want(line);
    return true;
  }
  return false;
}

bool CrashCores::fenced(const Core& core) const {
  return core.combining.empty() &&
         std::all_of(core.owed.begin(), core.owed.end(),
                     [&](const auto& owed) { return lines_[owed.first].accepted >= owed.second; });
}

std::uint64_t CrashCores::load(const Core& core, std::uint32_t op) const {
  const Address address = program_[op].address;
  const auto stores_here = [&](std::uint32_t other) {
    return persistence::is_store(program_[other].kind) && program_[other].address == address;
  };
  const auto own = std::find_if(core.buffer.rbegin(), core.buffer.rend(), stores_here);
  if (own != core.buffer.rend()) return program_[*own].value;
  const auto combining = std::find_if(core.combining.rbegin(), core.combining.rend(), stores_here);
  if (combining != core.combining.rend()) return program_[*combining].value;
  const Line& line = lines_[program_.line_of(op)];
  for (std::uint32_t i = line.visible; i-- > 0;) {
    if (stores_here(line.order[i])) return program_[line.order[i]].value;
  }
  return program_.lines()[program_.line_of(op)].initial[program_.word_of(op)];
}

void CrashCores::make_visible(std::uint32_t op) {
  Line& line = lines_[program_.line_of(op)];
  line.order.push_back(op);
  line.visible = static_cast<std::uint32_t>(line.order.size());
  left_[op] = true;
}

void CrashCores::want(std::uint32_t line) {
  if (lines_[line].queued) return;
  lines_[line].queued = true;
  to_send_.push_back(line);
}

/// Lines find their way from the caches to the controller in any order.
void CrashCores::send() {
  while (!refused_ && !to_send_.empty() && rng_.below(2) == 0) {
    std::swap(to_send_.back(), to_send_[rng_.below(to_send_.size())]);
    const std::uint32_t index = to_send_.back();
    Line& line = lines_[index];
    snapshots_.push_back({index, static_cast<std::uint32_t>(line.order.size())});
    Request request;
    request.id = index;
    request.address = program_.lines()[index].address;
    request.op = Op::write;
    request.data = snapshots_.size();
    if (!memory_.try_send(request, now_).accepted) {
      snapshots_.pop_back();
      refused_ = true;
      return;
    }
    line.sent = snapshots_.back().stores;
    ++in_flight_;
    to_send_.pop_back();
  }
}

void CrashCores::collect() {
  for (const Completion& completion : sink_) {
    if (completion.kind == Completion::Kind::wake) {
      refused_ = false;
      continue;
    }
    --in_flight_;
    Line& line = lines_[completion.id];
    line.accepted = line.sent;
    line.queued = false;
    if (line.combined == nobody) continue;
    line.visible = static_cast<std::uint32_t>(line.order.size());
    left_[line.combined] = true;
    std::erase(cores_[program_[line.combined].thread].combining, line.combined);
    line.combined = nobody;
  }
  sink_.clear();
}

std::uint32_t CrashCores::durable(std::uint32_t line) const {
  const DataHandle data = memory_.durable(program_.lines()[line].address);
  if (data == 0) return 0;
  const Snapshot& snapshot = snapshots_.at(data - 1);
  if (snapshot.line != line) throw std::logic_error("the memory has mixed up two lines");
  return snapshot.stores;
}

}  // namespace nearfar::sim
