#include <algorithm>
#include <span>

#include "sim/link/link.h"

namespace nearfar::sim::link {

/// As run_at_once(), with a memory that plays no sooner than it has to, and never further than what
/// is told: a caller that asks for its state then finds it where it should be. Answers are the only
/// thing that happens on the link.
Tick Link::run_behind(Tick until, Sink& sink, bool to_completion) {
  const std::size_t before = sink.size();
  const Tick last = min(until, Tick::never() - Tick(1));  // what is due never is not due
  while (true) {
    const Tick own = answers_.next();
    if (own > min(last, unheard(memory_at_))) {
      // The memory may refresh itself for ever.
      if (own.is_never() && until.is_never() && idle()) break;
      const Tick end = min(own, last);
      const Tick first = next_at_memory();
      if (first <= end) {
        play_memory(min(end, unheard(first)));
        continue;
      }
      if (own > last) break;
      memory_at_ = own;
    }
    tell_answers(own, sink);
    played_ = own;
    known_until_ = unheard(memory_at_);
    if (to_completion && sink.size() != before) return own;
  }
  if (!until.is_never()) played_ = memory_at_ = until;
  return until;
}

/// The memory plays up to `to`, and gets all requests that arrive by then. When it is heard matters
/// only if it has refused something.
void Link::play_memory(Tick to) {
  while (true) {
    if (takes_early_ && !port_.waiting()) {
      // Mostly nothing else arrives.
      const Tick end = min(to + Tick(1), min(arrivals_[1].next(), fences_.next()));
      while (arrivals_[0].next() < end && !port_.waiting()) offer_all(end);
    }
    const Tick arrival = next_arrival();
    const Tick end = min(to, arrival);
    if (port_.waiting()) {
      play_and_resend(end);
    } else if (!takes_early_ || arrival > to) {
      play_alone(end);
    }
    memory_at_ = end;
    if (arrival > to) return;
    arrive(arrival);
  }
}

/// The memory gets the requests that arrive before `end`, as many as it takes and as lie side by
/// side.
void Link::offer_all(Tick end) {
  const std::span<Timed<Request>> first = arrivals_[0].first();
  std::size_t count = 1;
  while (count != first.size() && first[count].time < end) ++count;
  const std::span<Timed<Request>> arrivals = first.first(count);
  const std::size_t taken = port_.send_all(arrivals);
  for (const auto& [time, request] : arrivals.first(taken)) return_credit(request.op, time);
  const std::size_t offered = std::min(taken + 1, count);
  memory_at_ = arrivals[offered - 1].time;
  arrivals_[0].drop(offered);
}

void Link::play_alone(Tick to) {
  if (memory_->next_event() > to) return;
  memory_->advance(to, from_memory_);
  hear();
}

/// What was refused is sent again in the instant in which there is a place for it.
void Link::play_and_resend(Tick to) {
  play_alone(memory_at_);
  while (memory_->next_event() <= to) {
    memory_->advance_to_completion(to, from_memory_);
    hear();
  }
}

void Link::hear() {
  for (const Completion& completion : from_memory_) hear(completion);
  from_memory_.clear();
}

}  // namespace nearfar::sim::link
