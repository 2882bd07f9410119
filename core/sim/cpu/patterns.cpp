#include "sim/cpu/patterns.h"

#include <numeric>
#include <utility>

namespace nearfar::sim::cpu {
namespace {

Step fence_step(FenceKind kind) {
  Step step;
  step.kind = kind == FenceKind::mfence ? Step::Kind::mfence : Step::Kind::sfence;
  return step;
}

/// A store to the line that was just loaded.
Step update_step(Address line, Step::Kind store = Step::Kind::store) {
  Step step;
  step.kind = store;
  step.address = line;
  step.again = true;
  return step;
}

bool is_load(Step::Kind kind) { return kind == Step::Kind::load || kind == Step::Kind::nt_load; }

Address block_base(const ChaseShape& shape, std::uint64_t region, std::uint64_t block) {
  const Address first = shape.repeat ? shape.base : shape.base + region * shape.region;
  return first + block * (shape.stride == 0 ? shape.block : shape.stride);
}

}  // namespace

CyclicOrder::CyclicOrder(std::uint64_t blocks, std::uint64_t seed) : next_(blocks) {
  std::iota(next_.begin(), next_.end(), 0u);
  Rng rng(seed);
  for (std::uint64_t i = blocks; i-- > 1;) std::swap(next_[i], next_[rng.below(i)]);
}

bool ChaseStores::next(Step& step) {
  step = Step{};
  switch (at_) {
    case At::table:
      if (region_ == shape_.regions) return false;
      step.kind = Step::Kind::table;
      step.table_latency = table_->read(block_);
      at_ = At::lines;
      return true;
    case At::lines:
      step.kind = store_;
      step.address = block_base(shape_, region_, block_) + offset_;
      step.instructions = shape_.line_instructions;
      offset_ += line_bytes;
      if (offset_ == shape_.block) at_ = At::block_end;
      return true;
    case At::block_end:
      offset_ = 0;
      block_ = order_->after(block_);
      at_ = block_ == 0 ? At::region_end : At::table;
      if (shape_.fence == FencePlace::block) {
        step = fence_step(shape_.fence_kind);
        return true;
      }
      return next(step);
    case At::region_end:
      ++region_;
      at_ = At::table;
      if (shape_.fence == FencePlace::region) {
        step = fence_step(shape_.fence_kind);
        return true;
      }
      return next(step);
  }
  return false;
}

bool ChaseLoads::next(Step& step) {
  step = Step{};
  if (update_due_) {
    update_due_ = false;
    step = update_step(loaded_, shape_.flush ? Step::Kind::store_clwb : Step::Kind::store);
    return true;
  }
  if (fence_due_) {
    fence_due_ = false;
    step = fence_step(shape_.fence_kind);
    return true;
  }
  if (pause_due_) {
    pause_due_ = false;
    step.kind = Step::Kind::delay;
    step.waits = true;
    step.span = shape_.pause;
    return true;
  }
  if (region_ == shape_.regions) return false;
  step.kind = shape_.load;
  step.address = loaded_ = block_base(shape_, region_, block_) + offset_;
  step.instructions = shape_.line_instructions;
  step.waits = offset_ == 0;
  update_due_ = shape_.update;
  offset_ += line_bytes;
  if (offset_ < shape_.block) return true;
  step.feeds = true;
  offset_ = 0;
  block_ = order_->after(block_);
  if (shape_.mark) {
    const std::uint64_t next = block_ == 0 ? region_ + 1 : region_;
    if (next != shape_.regions) step.leads_to = block_base(shape_, next, block_);
  }
  pause_due_ = shape_.pause != Tick{};
  fence_due_ = shape_.fence == FencePlace::block;
  if (block_ == 0) {
    ++region_;
    fence_due_ = shape_.fence != FencePlace::none;
  }
  return true;
}

ChaseReadAfterWrite::ChaseReadAfterWrite(const ChaseShape& shape,
                                         std::shared_ptr<const CyclicOrder> order, Step::Kind store,
                                         std::shared_ptr<TableCaches> table)
    : shape_(shape), order_(std::move(order)), store_(store), table_(std::move(table)) {
  begin_region();
}

void ChaseReadAfterWrite::begin_region() {
  ChaseShape one = shape_;
  one.base = block_base(shape_, region_, 0);
  one.regions = 1;
  stores_ = std::make_unique<ChaseStores>(one, order_, store_, table_);
  loads_ = std::make_unique<ChaseLoads>(one, order_);
}

bool ChaseReadAfterWrite::next(Step& step) {
  while (region_ < shape_.regions) {
    if (stores_->next(step) || loads_->next(step)) return true;
    ++region_;
    begin_region();
  }
  return false;
}

bool Overwrite::next(Step& step) {
  step = Step{};
  if (done_ == writes_) return false;
  constexpr std::uint32_t lines = chunk / line_bytes;
  if (phase_ == 0) {
    step.kind = Step::Kind::sample_begin;
  } else if (phase_ <= lines) {
    step.kind = store_;
    step.address = base_ + done_ * chunk % region_ + (phase_ - 1) * line_bytes;
  } else if (phase_ == lines + 1) {
    step = fence_step(fence_);
  } else {
    step.kind = Step::Kind::sample_end;
    ++done_;
    phase_ = 0;
    return true;
  }
  ++phase_;
  return true;
}

void StreamAccesses::begin_access() {
  offset_ = 0;
  if (shape_.stride == 0) {
    access_ = shape_.base + rng_.below(shape_.area / shape_.access) * shape_.access;
  } else {
    const std::uint64_t strides = shape_.area / shape_.stride;
    access_ = shape_.base + accesses_ % strides * shape_.stride;
  }
  ++accesses_;
  reading_ = is_load(shape_.op) || (shape_.reads_percent > 0 && shape_.reads_percent < 100 &&
                                    rng_.below(100) < shape_.reads_percent);
}

bool StreamAccesses::next(Step& step) {
  step = Step{};
  if (update_due_) {
    update_due_ = false;
    step = update_step(loaded_);
    return true;
  }
  if (pause_due_) {
    pause_due_ = false;
    step.kind = Step::Kind::delay;
    step.span = shape_.pause;
    return true;
  }
  if (shape_.fence_every != 0 && since_fence_ >= shape_.fence_every) {
    since_fence_ = 0;
    step = fence_step(shape_.fence_kind);
    return true;
  }
  step.kind = shape_.op;
  if (reading_ && !is_load(shape_.op)) {
    step.kind = shape_.op == Step::Kind::nt_store ? Step::Kind::nt_load : Step::Kind::load;
  }
  step.address = loaded_ = access_ + offset_;
  update_due_ = shape_.update;
  step.instructions = shape_.line_instructions + (offset_ == 0 ? shape_.access_instructions : 0);
  offset_ += line_bytes;
  since_fence_ += line_bytes;
  if (offset_ == shape_.access) {
    pause_due_ = shape_.pause != Tick{};
    begin_access();
  }
  return true;
}

}  // namespace nearfar::sim::cpu
