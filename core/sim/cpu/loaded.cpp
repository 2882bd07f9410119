#include "sim/cpu/loaded.h"

#include <algorithm>
#include <utility>

namespace nearfar::sim::cpu {

LoadGenerator::LoadGenerator(const GeneratorShape& shape)
    : shape_(shape), lines_(shape.area / line_bytes / (2 * sequences)) {
  Rng rng(shape.seed);
  for (std::uint64_t& at : loads_.at) at = rng.below(lines_);
  for (std::uint64_t& at : stores_.at) at = rng.below(lines_);
}

Address LoadGenerator::take(Turn& turn, std::uint32_t first_part) {
  const std::uint32_t sequence = turn.next;
  turn.next = (turn.next + 1) % sequences;
  std::uint64_t& at = turn.at[sequence];
  const std::uint64_t line = (first_part + sequence) * lines_ + at;
  at = at + 1 == lines_ ? 0 : at + 1;
  return shape_.base + line * line_bytes;
}

bool LoadGenerator::next(Step& step) {
  step = Step{};
  if (shape_.pace->ended) return false;
  if (pause_due_) {
    pause_due_ = false;
    step.kind = Step::Kind::delay;
    step.span = shape_.pace->pause;
    return true;
  }
  ++shape_.pace->accesses;
  stores_due_ += shape_.stores;
  const bool store = stores_due_ >= shape_.accesses;
  if (store) stores_due_ -= shape_.accesses;
  step.kind = store ? shape_.store : Step::Kind::load;
  step.address = store ? take(stores_, sequences) : take(loads_, 0);
  step.instructions = shape_.line_instructions;
  pause_due_ = shape_.pace->pause != Tick{};
  return true;
}

PacingReader::PacingReader(Plan plan, std::shared_ptr<Pace> pace,
                           std::shared_ptr<const CyclicOrder> order,
                           std::uint32_t line_instructions, std::function<void()> edge)
    : plan_(plan),
      pace_(std::move(pace)),
      order_(std::move(order)),
      line_instructions_(line_instructions),
      edge_(std::move(edge)) {
  begin_pace();
}

void PacingReader::begin_pace() {
  const std::size_t rank = readings_.size();
  readings_.emplace_back();
  done_ = 0;
  if (rank == 0) return;
  if (rank > plan_.parts) {
    pace_->ended = true;
    return;
  }
  const std::uint64_t part = plan_.parts + 1 - rank;
  pace_->pause = readings_.back().pause = Tick(gap_.ps() * plan_.parts / part);
}

bool PacingReader::next(Step& step) {
  step = Step{};
  if (done_ == plan_.settling + plan_.reads) return false;
  step.kind = Step::Kind::load;
  step.waits = step.feeds = step.timed = true;
  step.address = Address(0) + line_ * line_bytes;
  step.instructions = line_instructions_;
  line_ = order_->after(line_);
  return true;
}

void PacingReader::began(std::uint64_t, Tick at) { began_ = at; }

void PacingReader::done(std::uint64_t, Tick at) {
  if (done_ == plan_.settling + plan_.reads) return;
  ++done_;
  PaceReading& reading = readings_.back();
  if (done_ > plan_.settling) reading.latency.add((at - began_).ps());
  if (done_ == plan_.settling) {
    reading.begin = at;
    accesses_before_ = pace_->accesses;
    edge_();
  }
  if (done_ < plan_.settling + plan_.reads) return;
  reading.end = at;
  edge_();
  if (readings_.size() == 1) {
    const std::uint64_t made = std::max<std::uint64_t>(pace_->accesses - accesses_before_, 1);
    gap_ = Tick((reading.end - reading.begin).ps() * plan_.generators / made);
  }
  if (readings_.size() < plan_.parts + std::size_t{2}) begin_pace();
}

}  // namespace nearfar::sim::cpu
