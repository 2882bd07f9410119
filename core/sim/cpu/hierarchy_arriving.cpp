#include "sim/cpu/hierarchy.h"

/// Lines have their place in a cache as soon as they are found further out. Here is when they come.
namespace nearfar::sim::cpu {

void Hierarchy::follow(Core core, Address physical, Tick now, Answer& answer) {
  if (answer.state != Answer::State::hit) return;
  Private& at = cores_[core];
  const Line line = physical.block(line_bytes);
  const bool in_l1 = answer.level == Level::l1;
  const auto* const coming = in_l1                       ? at.to_l1.find(line)
                             : answer.level == Level::l2 ? at.to_l2.find(line)
                                                         : nullptr;
  if (coming != nullptr && coming->at > now + answer.latency) {
    answer.behind = coming->at - now - answer.latency;
    answer.from = coming->from;
    answer.latency += answer.behind;
  }
  if (!in_l1) at.to_l1.add({line, answer.source(), now + answer.latency});
}

void Hierarchy::date_prefetches(Tick now) {
  for (const FromL3& fetched : from_l3_) {
    Arriving<Level>& to_l2 = cores_[fetched.core].to_l2;
    to_l2.remove_until(now);
    to_l2.add({fetched.line, Level::l3, now + fetched.delay});
  }
  from_l3_.clear();
}

}  // namespace nearfar::sim::cpu
