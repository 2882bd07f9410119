#include "sim/persistence/threads.h"

#include <algorithm>

namespace nearfar::sim::persistence {

Threads::Threads(const Program& program, bool eadr)
    : program_(&program),
      eadr_(eadr),
      issued_(program.threads().size()),
      oldest_(program.threads().size()),
      left_(program.size()),
      lines_(program.lines().size()),
      flushes_(program.threads().size()),
      passed_(program.labels()) {
  settle_down();
}

std::vector<std::uint32_t> Threads::enabled() const {
  std::vector<std::uint32_t> result;
  for (std::uint32_t thread = 0; thread < issued_.size(); ++thread) {
    const auto& operations = program_->threads()[thread];
    for (std::uint32_t i = oldest_[thread]; i < issued_[thread]; ++i) {
      if (!left_[operations[i]] && may_leave(operations[i])) result.push_back(operations[i]);
    }
  }
  return result;
}

/// Whether `later` stays in the thread's store buffer or write-combining buffers until `earlier`,
/// of the same thread, is out.
bool Threads::must_wait_for(std::uint32_t later, std::uint32_t earlier) const {
  const Kind waiting = (*program_)[later].kind;
  const Kind before = (*program_)[earlier].kind;
  if (is_fence(waiting) || is_fence(before)) return true;
  const bool same_line = has_address(waiting) && has_address(before) &&
                         program_->line_of(later) == program_->line_of(earlier);
  const auto in_order = [](Kind kind) {
    return kind == Kind::store || kind == Kind::clflush || kind == Kind::label;
  };
  if (in_order(waiting) && in_order(before)) return true;
  if (!same_line || before == Kind::clwb || before == Kind::clflushopt) return false;
  const bool both_non_temporal = waiting == Kind::nt_store && before == Kind::nt_store;
  return !both_non_temporal || program_->word_of(later) == program_->word_of(earlier);
}

bool Threads::may_leave(std::uint32_t op) const {
  const std::uint32_t thread = (*program_)[op].thread;
  const auto& operations = program_->threads()[thread];
  for (std::uint32_t i = oldest_[thread]; operations[i] != op; ++i) {
    const std::uint32_t before = operations[i];
    if (!left_[before] && must_wait_for(op, before)) return false;
  }
  const Operation& operation = (*program_)[op];
  return operation.kind != Kind::compare_exchange || read(op) == operation.expected;
}

/// What a load at `op` returns: the thread's own last store that is still on its way, else the
/// visible value.
std::uint64_t Threads::read(std::uint32_t op) const {
  const Operation& operation = (*program_)[op];
  const auto& operations = program_->threads()[operation.thread];
  const auto at = std::find(operations.begin() + oldest_[operation.thread], operations.end(), op);
  for (auto own = at; own != operations.begin() + oldest_[operation.thread];) {
    const Operation& earlier = (*program_)[*--own];
    if (!left_[*own] && is_store(earlier.kind) && earlier.address == operation.address) {
      return earlier.value;
    }
  }
  const std::uint32_t line = program_->line_of(op);
  const auto& visible = lines_[line].visible;
  for (auto store = visible.rbegin(); store != visible.rend(); ++store) {
    if ((*program_)[*store].address == operation.address) return (*program_)[*store].value;
  }
  return program_->lines()[line].initial[program_->word_of(op)];
}

void Threads::leave(std::uint32_t op) {
  const Operation& operation = (*program_)[op];
  if (is_fence(operation.kind)) fence(operation.thread);
  if (is_store(operation.kind)) {
    Line& line = lines_[program_->line_of(op)];
    line.visible.push_back(op);
    if (eadr_ || operation.kind == Kind::nt_store) {
      line.floor = static_cast<std::uint32_t>(line.visible.size());
    }
  } else if (operation.kind == Kind::clflush) {
    Line& line = lines_[program_->line_of(op)];
    line.floor = static_cast<std::uint32_t>(line.visible.size());
  } else if (operation.kind == Kind::label) {
    passed_[operation.value] = true;
  }
  mark_left(op);
  settle_down();
}

void Threads::mark_left(std::uint32_t op) {
  left_[op] = true;
  ++left_count_;
  const std::uint32_t thread = (*program_)[op].thread;
  const auto& operations = program_->threads()[thread];
  std::uint32_t& oldest = oldest_[thread];
  while (oldest < operations.size() && left_[operations[oldest]]) ++oldest;
}

void Threads::fence(std::uint32_t thread) {
  for (const Flush& flush : flushes_[thread]) {
    lines_[flush.line].floor = std::max(lines_[flush.line].floor, flush.stores);
  }
  flushes_[thread].clear();
}

void Threads::settle_down() {
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t thread = 0; thread < issued_.size(); ++thread) {
      moved |= issue(thread);
      moved |= look_at_lines(thread);
    }
  }
}

bool Threads::issue(std::uint32_t thread) {
  const auto& operations = program_->threads()[thread];
  std::uint32_t& issued = issued_[thread];
  const std::uint32_t before = issued;
  while (issued < operations.size()) {
    // Loads, and what comes behind them, wait for the last mfence or locked instruction.
    if (issued > 0) {
      const std::uint32_t last = operations[issued - 1];
      const Kind kind = (*program_)[last].kind;
      if ((kind == Kind::mfence || is_locked(kind)) && !left_[last]) break;
    }
    const std::uint32_t op = operations[issued];
    if ((*program_)[op].kind == Kind::await) {
      if (read(op) != (*program_)[op].value) break;
      mark_left(op);
    }
    ++issued;
  }
  return issued != before;
}

bool Threads::look_at_lines(std::uint32_t thread) {
  const auto& operations = program_->threads()[thread];
  bool any = false;
  for (std::uint32_t i = oldest_[thread]; i < issued_[thread]; ++i) {
    const std::uint32_t op = operations[i];
    const Kind kind = (*program_)[op].kind;
    if ((kind != Kind::clwb && kind != Kind::clflushopt) || left_[op] || !may_leave(op)) continue;
    const std::uint32_t line = program_->line_of(op);
    flushes_[thread].push_back({line, static_cast<std::uint32_t>(lines_[line].visible.size())});
    mark_left(op);
    any = true;
  }
  return any;
}

std::uint32_t Threads::first_waiting() const {
  for (const auto& operations : program_->threads()) {
    for (const std::uint32_t op : operations) {
      if (!left_[op]) return op;
    }
  }
  return program_->size();
}

Fingerprint Threads::print() const {
  Fingerprint print{5, 6};
  for (const std::uint32_t issued : issued_) print = extend(print, issued);
  for (std::size_t op = 0; op < left_.size(); op += 64) {
    std::uint64_t bits = 0;
    for (std::size_t i = op; i < left_.size() && i < op + 64; ++i) {
      if (left_[i]) bits |= std::uint64_t{1} << (i - op);
    }
    print = extend(print, bits);
  }
  for (const Line& line : lines_) {
    print = extend(print, line.floor);
    print = extend(print, line.visible.size());
    for (const std::uint32_t op : line.visible) print = extend(print, op);
  }
  for (const auto& flushes : flushes_) {
    print = extend(print, flushes.size());
    for (const Flush& flush : flushes) {
      print = extend(print, (std::uint64_t{flush.line} << 32) + flush.stores);
    }
  }
  return print;
}

}  // namespace nearfar::sim::persistence
