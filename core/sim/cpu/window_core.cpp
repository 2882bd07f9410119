#include "sim/cpu/window_core.h"

#include <algorithm>
#include <bit>

namespace nearfar::sim::cpu {

WindowCore::WindowCore(Socket& socket, const CoreConfig& config, PageMap& pages)
    : Core(socket, config, pages),
      slot_time_(fine(config.period) / config.width),
      period_(fine(config.period)),
      l1_latency_(fine(socket.config().caches.l1.latency)),
      forward_(fine(config.forward)),
      ports_(config.period),
      stores_(socket, core_, config, counts_),
      predictor_(config.branch_targets),
      // Instructions that have retired are asked about for as long as they may hold up another.
      rob_(std::bit_ceil(std::size_t{config.rob} * 2)),
      left_(rob_.size()),
      rob_mask_(rob_.size() - 1),
      loads_(std::bit_ceil(std::size_t{config.loads} + 1)),
      load_mask_(loads_.size() - 1) {
  pretranslates_ = socket.config().caches.pretranslation.enabled;
  // So that there always is an instruction as far back as the reorder buffer is long.
  head_ = tail_ = rob_.size();
}

bool WindowCore::play(const Block& block, std::span<const Access> accesses) {
  if (head_ == stuck_at_) return false;
  if (!entered_ && !enter(block)) return false;
  const std::size_t begin = next_instruction_;
  const std::size_t size = block.instructions.size();
  while (true) {
    if (config_.short_way) play_short(block, accesses);
    if (next_instruction_ == size) break;
    std::size_t end = next_access_;
    while (end != accesses.size() && accesses[end].instruction == next_instruction_) ++end;
    step_ = &block.instructions.steps()[next_instruction_];
    if (!issue(block.instructions[next_instruction_],
               accesses.subspan(next_access_, end - next_access_))) {
      break;
    }
    next_access_ = end;
    ++next_instruction_;
  }
  counts_.instructions += next_instruction_ - begin;
  if (next_instruction_ != size) return false;
  branch_ = last_value_;
  next_instruction_ = next_access_ = 0;
  entered_ = false;
  return true;
}

/// False until it is known where the block before ended, if that was guessed wrong.
bool WindowCore::enter(const Block& block) {
  if (!guessed_) {
    guessed_ = true;
    ++counts_.branches;
    wrong_guess_ = !predictor_.follow(block);
    if (wrong_guess_) ++counts_.mispredicted;
    looks_ahead_ = wrong_guess_ && config_.wrong_path && !known(branch_);
  }
  if (wrong_guess_) {
    if (looks_ahead_ || !known(branch_)) return false;
    guess_known_ = branch_;
    put_off(branch_ + fine(config_.branch_penalty), Cause::branch);
  }
  guessed_ = false;
  entered_ = true;
  return true;
}

void WindowCore::put_off(Fine until, Cause cause) {
  if (until <= dispatch_) return;
  dispatch_ = until;
  delay_ = cause;
}

bool WindowCore::issue(const Instruction& instruction, std::span<const Access> accesses) {
  if (instruction.uops == 0) return true;
  if (accesses.empty() && instruction.kind <= InstructionKind::branch) {
    return issue_pieces(instruction, accesses);
  }
  if (instruction.kind >= InstructionKind::flush && instruction.kind != InstructionKind::prefetch) {
    return issue_ordering(instruction, accesses);
  }
  if (accesses.size() == 2 && accesses[1].pointer) return issue_marked(instruction, accesses);
  const bool whole =
      accesses.empty() ||
      (accesses.size() == 1 && accesses[0].address % line_bytes + accesses[0].size <= line_bytes);
  if (whole) return issue_pieces(instruction, accesses);
  if (!cut_) cut(accesses);
  return issue_cut(instruction);
}

/// A marked load; one of a pointer across two lines is as any other.
bool WindowCore::issue_marked(const Instruction& instruction, std::span<const Access> accesses) {
  if (accesses[0].address % line_bytes + accesses[0].size > line_bytes) {
    return issue(instruction, accesses.first(1));
  }
  leads_to_ = Address(accesses[1].address);
  const bool issued = issue_pieces(instruction, accesses.first(1));
  leads_to_ = Address{};
  return issued;
}

/// Into the lines they touch.
void WindowCore::cut(std::span<const Access> accesses) {
  pieces_.clear();
  for (Access rest : accesses) {
    while (true) {
      const auto room = static_cast<std::uint16_t>(line_bytes - rest.address % line_bytes);
      Access piece = rest;
      piece.size = std::min(rest.size, room);
      pieces_.push_back(piece);
      if (piece.size == rest.size) break;
      rest.address += piece.size;
      rest.size = static_cast<std::uint16_t>(rest.size - piece.size);
    }
  }
  next_piece_ = 0;
  cut_ = true;
}

/// What was cut: together where it is little.
bool WindowCore::issue_cut(const Instruction& instruction) {
  const bool done = pieces_.size() <= most_together ? issue_pieces(instruction, pieces_)
                                                    : issue_string(instruction);
  if (done) cut_ = false;
  return done;
}

/// Many accesses of one instruction (a string instruction, a gather): an operation each.
bool WindowCore::issue_string(const Instruction& instruction) {
  Instruction one = instruction;
  one.uops = 1;
  for (; next_piece_ < pieces_.size(); ++next_piece_) {
    if (!issue_pieces(one, std::span(pieces_).subspan(next_piece_, 1))) return false;
  }
  return true;
}

bool WindowCore::issue_pieces(const Instruction& instruction, std::span<const Access> pieces) {
  std::uint32_t loads = 0;
  for (const Access& piece : pieces) loads += piece.store ? 0 : 1;
  const auto stores = static_cast<std::uint32_t>(pieces.size()) - loads;
  const bool prefetch = instruction.kind == InstructionKind::prefetch;
  if (!dispatch(instruction.uops, prefetch ? 0 : loads, stores)) return false;

  Fine latest = start_;
  for (const Register source : instruction.sources) latest = std::max(latest, values_[source]);
  const StoreBuffer::Number first_store = stores_.next();
  std::array<Fine, most_together> loaded{};
  std::size_t count = 0;
  for (const Access& piece : pieces) {
    if (piece.store) {
      Fine address = start_;
      for (const Register source : instruction.address_sources) {
        address = std::max(address, values_[source]);
      }
      store(instruction, piece, address);
      latest = std::max(latest, address);
    } else {
      loaded[count] = load(instruction, piece);
      if (!prefetch) latest = std::max(latest, loaded[count++]);
    }
  }
  if (known(latest)) {
    const Fine value = execute(operation_of(instruction), latest);
    for (StoreBuffer::Number n = first_store; n != stores_.next(); ++n) stores_.set_data(n, value);
    finish(instruction, value, count != 0 ? Cause::l1 : Cause::base);
    return true;
  }
  Inputs inputs;
  inputs.add(start_);
  for (const Register source : instruction.sources) inputs.add(values_[source]);
  for (std::size_t i = 0; i < count; ++i) inputs.add(loaded[i]);
  if (stores != 0) {
    for (const Register source : instruction.address_sources) inputs.add(values_[source]);
  }
  later_result(instruction, inputs, first_store);
  return true;
}

/// Room for an instruction: in the reorder buffer, behind the loads before it, behind the stores.
bool WindowCore::dispatch(std::uint32_t slots, std::uint32_t loads, std::uint32_t stores) {
  const Position room = tail_ + slots - 1 - config_.rob;
  if (room >= head_) {
    stuck_at_ = head_;
    return false;
  }
  Fine at = std::max(dispatch_, left(room));
  if (loads != 0) {
    const Position before = loads_[(load_count_ + loads - 1 - config_.loads) & load_mask_];
    if (before >= head_) return false;
    if (before + rob_.size() >= tail_ + slots) at = std::max(at, left(before));
  }
  delayed_by_ = delay_;
  if (stores != 0) {
    const Fine without = at;
    if (!stores_.room(stores, at)) return false;
    if (at != without) delayed_by_ = Cause::store_queue;
  }
  delay_ = Cause::base;
  start_ = at;
  dispatch_ = at + slots * slot_time_;
  for (std::uint32_t i = 0; i < slots; ++i) {
    slot(tail_++) = {.begin = at, .delayed_by = delayed_by_};
  }
  return true;
}

Fine WindowCore::load(const Instruction& instruction, const Access& piece) {
  Fine address = start_;
  for (const Register source : instruction.address_sources) {
    address = std::max(address, values_[source]);
  }
  Place place = place_of(piece.address);
  place.leads_to = leads_to_;
  const bool prefetch = instruction.kind == InstructionKind::prefetch;
  ++counts_.loads;
  if (!prefetch) loads_[load_count_++ & load_mask_] = tail_ - 1;
  Fine data = 0;
  const bool forwarded = stores_.forwards(piece.address, known(address) ? address : start_, data);
  if (forwarded) ++counts_.forwarded;
  if (known(address) && known(data)) {
    if (forwarded) return std::max(address, data) + forward_;
    const Fine at = ports_.take(address, Ports::load);
    if (socket_.caches().quick(core_, place, Hierarchy::Kind::load)) {
      socket_.marked_hit(core_, place);
      return at + l1_latency_;
    }
    return asked_load(place, at, prefetch);
  }
  Inputs inputs;
  inputs.add(start_);
  for (const Register source : instruction.address_sources) inputs.add(values_[source]);
  if (forwarded) inputs.add(data);
  return later_load(place, inputs, forwarded ? Node::Kind::forward : Node::Kind::load, prefetch);
}

void WindowCore::store(const Instruction& instruction, const Access& piece, Fine address) {
  const bool past_caches = instruction.kind == InstructionKind::nt_store;
  const StoreBuffer::Number number =
      stores_.push(past_caches ? StoreBuffer::Kind::nt_store : StoreBuffer::Kind::store,
                   place_of(piece.address), piece.size, tail_ - 1);
  ++counts_.stores;
  if (past_caches) return;
  if (known(address)) {
    stores_.ask(number, address);
    return;
  }
  Inputs inputs;
  inputs.add(start_);
  for (const Register source : instruction.address_sources) inputs.add(values_[source]);
  later_ask(number, inputs);
}

WindowCore::Operation WindowCore::operation_of(const Instruction& instruction) const {
  if (instruction.kind == InstructionKind::store || instruction.kind == InstructionKind::nt_store) {
    return {.stores = true};
  }
  Operation operation = {.latency = step_->latency * period_, .ports = step_->ports};
  operation.stores = instruction.kind == InstructionKind::load_store ||
                     instruction.kind == InstructionKind::locked;
  return operation;
}

void WindowCore::finish(const Instruction& instruction, Fine value, Cause cause) {
  set_values(instruction, value);
  Slot& here = slot(tail_ - 1);
  here.time = value;
  here.cause = cause;
  retire();
}

void WindowCore::retire() {
  while (head_ != tail_) {
    const Slot& first = slot(head_);
    if (!known(first.time)) return;
    left(head_) = retire_next(first);
    const Position position = head_++;
    stores_.retired(position, retired_);
  }
}

}  // namespace nearfar::sim::cpu
