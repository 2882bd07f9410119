#include "sim/persistence/one_thread.h"

namespace nearfar::sim::persistence {

double OneThread::Box::size() const {
  double product = 1;
  for (std::uint32_t of = 0; of < lines.size(); ++of) product *= static_cast<double>(count(of));
  return product;
}

OneThread::OneThread(const Program& program, const Question& question)
    : program_(program), question_(question), opens_(program.size() + 1), number_(program.size()) {
  std::vector<std::uint32_t> held_by(program.lines().size(), program.size());
  std::vector<std::uint32_t> seen(program.lines().size());
  std::vector<std::size_t> place(program.lines().size());  // of the line in opens_[held_by]
  for (std::uint32_t op = 0; op < program.size(); ++op) {
    const Kind kind = program[op].kind;
    if (is_fence(kind)) held_by.assign(held_by.size(), op);
    if (!has_address(kind)) continue;
    const std::uint32_t line = program.line_of(op);
    number_[op] = seen[line];
    if (kind == Kind::store || kind == Kind::clflush) held_by[line] = op;
    if (!is_store(kind)) continue;
    ++seen[line];
    auto& opened = opens_[held_by[line]];
    if (place[line] < opened.size() && opened[place[line]].line == line) {
      opened[place[line]].stores = seen[line];
    } else {
      place[line] = opened.size();
      opened.push_back({line, seen[line]});
    }
  }
}

void OneThread::restart() {
  lines_.clear();
  newest_.clear();
  for (std::uint32_t line = 0; line < program_.lines().size(); ++line) {
    lines_.emplace_back(program_, line);
    newest_.push_back(program_.lines()[line].initial);
  }
  flushes_.clear();
  non_temporal_.clear();
  passed_.assign(program_.labels(), false);
  open_ = !question_.from;
  closed_ = false;
  stuck_.reset();
}

void OneThread::boxes(const BoxVisitor& visit) {
  restart();
  if (open_) visit({lines_, Box::whole, 0});
  let_go(program_.size(), visit);
  for (std::uint32_t op = 0; op < program_.size() && !closed_; ++op) step(op, visit);
}

void OneThread::step(std::uint32_t op, const BoxVisitor& visit) {
  const Operation& operation = program_[op];
  const std::uint32_t line = has_address(operation.kind) ? program_.line_of(op) : 0;
  if (waits_for_ever(op)) {
    stuck_ = op;
    closed_ = true;
    return;
  }
  if (is_store(operation.kind)) newest_[line][program_.word_of(op)] = operation.value;
  if (is_fence(operation.kind)) fence();

  switch (operation.kind) {
    case Kind::nt_store:
      non_temporal_.push_back({line, number_[op] + 1});
      break;
    case Kind::clwb:
    case Kind::clflushopt:
      flushes_.push_back({line, number_[op]});
      break;
    case Kind::clflush:
      lines_[line].settle(number_[op]);
      break;
    case Kind::label:
      passed_[operation.value] = true;
      if (question_.to == operation.value) closed_ = true;
      if (question_.from == operation.value) open_ = true;
      if (open_ && !closed_) visit({lines_, Box::whole, op + 1});
      break;
    default:
      break;
  }
  let_go(op, visit);
}

/// Everything before is where it has to be.
void OneThread::fence() {
  for (const Flush& flush : flushes_) lines_[flush.line].settle(flush.stores);
  for (const Flush& store : non_temporal_) lines_[store.line].settle(store.stores);
  flushes_.clear();
  non_temporal_.clear();
}

void OneThread::let_go(std::uint32_t op, const BoxVisitor& visit) {
  for (const Flush& opened : opens_[op]) {
    LineVersions& line = lines_[opened.line];
    // A store waits for the non-temporal ones before it in its line.
    const auto& stores = program_.lines()[opened.line].stores;
    const std::uint32_t first = line.end();
    if (program_[stores[first]].kind != Kind::nt_store && first > 0 &&
        program_[stores[first - 1]].kind == Kind::nt_store) {
      line.settle(first);
    }
    line.extend(opened.stores);
    const bool start = op == program_.size();
    if (open_ && !closed_) visit({lines_, opened.line, start ? 0 : op + 1});
    // The line of a locked store is the first it lets go.
    if (question_.eadr && !start && is_store(program_[op].kind)) {
      lines_[program_.line_of(op)].settle(number_[op] + 1);
    }
  }
}

/// A single thread reads what it wrote.
bool OneThread::waits_for_ever(std::uint32_t op) const {
  const Operation& operation = program_[op];
  if (operation.kind != Kind::await && operation.kind != Kind::compare_exchange) return false;
  const bool await = operation.kind == Kind::await;
  return newest_[program_.line_of(op)][program_.word_of(op)] !=
         (await ? operation.value : operation.expected);
}

}  // namespace nearfar::sim::persistence
