#include "sim/link/link.h"

namespace nearfar::sim::link {

/// Requests for a line have their turns in the order in which they were sent, though a read arrives
/// before the data of a write that has to ask for the line first.
void Link::enter_home(Index index, DataHandle data) {
  flights_[index].data = data;
  flights_[index].step = Step::on_the_way;
  flights_[index].next = Directory::none;
  const Index before = directory_->queue(flights_[index].address, index);
  if (before == Directory::none) {
    flights_[index].step = Step::its_turn;
  } else {
    flights_[before].next = index;
  }
}

void Link::arrive_home(Index index, Tick now) {
  if (flights_[index].step == Step::its_turn) {
    start_home(index, now);
  } else {
    flights_[index].step = Step::arrived;
  }
}

void Link::start_home(Index index, Tick now) {
  const Flight& flight = flights_[index];
  const bool write = flight.op == Op::write;
  ask_memory(index, write ? Step::writing : Step::fetching, flight.op, flight.data, now);
}

/// The memory has answered.
void Link::go_on(Index index, DataHandle data, Tick now) {
  const Flight& flight = flights_[index];
  const Address line = flight.address;
  switch (flight.step) {
    case Step::fetching:
      if (!directory_->away(line)) return give_away(index, data, now);
      answer(index, data, now);
      break;
    case Step::recording:
      leave_home(index, now);
      return part_over(index);
    default:
      directory_->set_away(line, false);
      answer(index, data, now);
      break;
  }
  leave_home(index, now);
}

/// A state that changes is written with the data that were read.
void Link::give_away(Index index, DataHandle data, Tick now) {
  Flight& flight = flights_[index];
  directory_->set_away(flight.address, true);
  ++directory_writes_;
  ++flight.parts;
  flight.data = data;
  if (config_.directory_latency == Tick{}) {
    answer(index, data, now);
  } else {
    given_away_.push(index);
    events_.push(state_kept, now + config_.directory_latency, {});
  }
  ask_memory(index, Step::recording, Op::write, data, now);
}

void Link::leave_home(Index index, Tick now) {
  const Flight& flight = flights_[index];
  return_credit(flight.op, now);
  const Index next = flight.next;
  directory_->leave(flight.address, index);
  if (next == Directory::none) return;
  const bool here = flights_[next].step == Step::arrived;
  flights_[next].step = Step::its_turn;
  if (here) start_home(next, now);
}

void Link::ask_memory(Index index, Step step, Op op, DataHandle data, Tick now) {
  Flight& flight = flights_[index];
  flight.step = step;
  Request request{.id = index, .address = flight.address, .op = op, .data = data};
  request.tell_media = flight.tell_media && step == Step::writing;
  port_.send(request, now);
}

}  // namespace nearfar::sim::link
