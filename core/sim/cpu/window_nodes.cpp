#include <algorithm>

#include "sim/cpu/window_core.h"

/// The window core's values that have a producer and not yet a time.
namespace nearfar::sim::cpu {

Fine WindowCore::asked_load(const Place& place, Fine at, bool prefetch) {
  const Index index = nodes_.take({.kind = Node::Kind::load, .prefetch = prefetch, .place = place});
  socket_.call_at(coarse(at), core_, index);
  return unknown_bit | index;
}

Fine WindowCore::later_load(const Place& place, const Inputs& inputs, Node::Kind kind,
                            bool prefetch) {
  return unknown_bit |
         new_node({.kind = kind, .cause = Cause::l1, .prefetch = prefetch, .place = place}, inputs);
}

/// The last instruction's result, which depends on what is not known.
void WindowCore::later_result(const Instruction& instruction, const Inputs& inputs,
                              StoreBuffer::Number first_store) {
  const Node node{.operation = operation_of(instruction),
                  .position = tail_ - 1,
                  .destinations = instruction.destinations,
                  .first_store = first_store,
                  .last_store = stores_.next()};
  const Index index = new_node(node, inputs);
  const Fine value = unknown_bit | index;
  for (StoreBuffer::Number n = first_store; n != stores_.next(); ++n) stores_.set_data(n, value);
  finish(instruction, value, Cause::base);
}

/// An instruction that may issue at `at`, and computes what is not known yet: all that the general
/// way would do for it.
void WindowCore::later_compute(const Digest& step, Fine at) {
  Inputs inputs;
  inputs.add(at);
  for (const Register source : step.sources) inputs.add(values_[source]);
  const Node node{.operation = {.latency = step.latency * period_, .ports = step.ports},
                  .position = tail_,
                  .destinations = step.destinations};
  const Fine value = unknown_bit | new_node(node, inputs);
  for (const Register destination : step.destinations) values_[destination] = value;
  last_value_ = value;
  dispatch_ = at + slot_time_;
  slot(tail_++) = {.time = value, .begin = at, .delayed_by = delay_};
  delay_ = Cause::base;
}

void WindowCore::later_ask(StoreBuffer::Number store, const Inputs& address) {
  new_node({.kind = Node::Kind::address, .first_store = store, .last_store = store}, address);
}

WindowCore::Index WindowCore::new_node(const Node& node, const Inputs& inputs) {
  const Index index = nodes_.take(node);
  nodes_[index].inputs = inputs.count;
  nodes_[index].time = inputs.latest;
  for (std::uint32_t i = 0; i < inputs.count; ++i) {
    Node& producer = nodes_[static_cast<Index>(inputs.unknown[i] & ~unknown_bit)];
    producer.dependents = edges_.take({.node = index, .next = producer.dependents});
  }
  return index;
}

/// All that the node waits for is known.
void WindowCore::ready(Index index) {
  const Node& node = nodes_[index];
  switch (node.kind) {
    case Node::Kind::load: {
      if (given_up(node, node.time)) {
        resolve(index, node.time);
        break;
      }
      const Fine at = node.guess != 0 ? node.time : ports_.take(node.time, Ports::load);
      if (socket_.caches().quick(core_, node.place, Hierarchy::Kind::load)) {
        socket_.marked_hit(core_, node.place);
        resolve(index, at + l1_latency_);
      } else {
        socket_.call_at(coarse(at), core_, index);
      }
      break;
    }
    case Node::Kind::forward:
      resolve(index, node.time + forward_);
      break;
    case Node::Kind::result:
      resolve(index, node.guess != 0 ? node.time + node.operation.latency
                                     : execute(node.operation, node.time));
      break;
    case Node::Kind::address: {
      const StoreBuffer::Number store = node.first_store;
      const Fine at = node.time;
      nodes_.give_back(index);
      stores_.ask(store, at);
      break;
    }
  }
}

/// Asks the caches for a load's line, now.
void WindowCore::ask(Index index) {
  const Node& node = nodes_[index];
  if (given_up(node, fine(socket_.now()))) return resolve(index, fine(socket_.now()));
  const Hierarchy::Answer answer = socket_.access(core_, node.place, Hierarchy::Kind::load, index);
  Node& asked = nodes_[index];
  if (asked.asked == Tick{}) asked.asked = socket_.now();
  switch (answer.state) {
    case Hierarchy::Answer::State::full:
      if (asked.prefetch) {
        nodes_.give_back(index);
      } else {
        refused_.push_back(index);
      }
      break;
    case Hierarchy::Answer::State::hit: {
      if (asked.guess != 0 && answer.level != Hierarchy::Level::l1) ++counts_.wrong_path;
      constexpr Cause cause_of[] = {Cause::l1, Cause::l2, Cause::l3, Cause::memory};
      asked.cause = cause_of[static_cast<std::size_t>(answer.source())];
      asked.walk += fine(answer.latency - answer.behind - socket_.caches().latency(answer.level));
      const Tick there = socket_.now() + answer.latency;
      if (asked.guess == 0) counts_.load_latency.add((there - asked.asked).ps());
      resolve(index, fine(there));
      break;
    }
    case Hierarchy::Answer::State::waits:
      if (asked.guess != 0) ++counts_.wrong_path;
      asked.cause = Cause::memory;
      asked.walk += fine(answer.latency);
      break;
    case Hierarchy::Answer::State::walks:
      break;
  }
}

void WindowCore::resolve(Index index, Fine value) {
  const Node node = nodes_[index];
  nodes_.give_back(index);
  if (node.guess != 0 && node.kind == Node::Kind::load) --wrong_loads_;
  set_result(node, index, value);
  const std::size_t first = to_do_.size();
  Index next = node.dependents;
  while (next != no_index) {
    const Edge edge = edges_[next];
    edges_.give_back(next);
    Node& dependent = nodes_[edge.node];
    if (value > dependent.time) {
      dependent.time = value;
      // What an instruction's own load took is what the instruction took.
      if (node.kind != Node::Kind::result && dependent.kind == Node::Kind::result) {
        dependent.cause = node.cause;
        dependent.walk = node.walk;
      }
    }
    if (--dependent.inputs == 0) to_do_.push_back(edge.node);
    next = edge.next;
  }
  if (pretranslates_) put_marked_in_order(first);
  if (resolving_) return;
  resolving_ = true;
  for (std::size_t i = 0; i < to_do_.size(); ++i) ready(to_do_[i]);
  to_do_.clear();
  resolving_ = false;
  retire();
}

/// A marked load that becomes ready together with others of its line asks for it in program order:
/// the first to ask decides whether the DIMM sees the mark. Dependents are found the last one
/// first.
void WindowCore::put_marked_in_order(std::size_t first) {
  const auto begin = to_do_.begin() + static_cast<std::ptrdiff_t>(first);
  const bool any = std::any_of(begin, to_do_.end(), [this](Index index) {
    return nodes_[index].place.leads_to != Address{};
  });
  if (any) std::reverse(begin, to_do_.end());
}

void WindowCore::set_result(const Node& node, Index index, Fine value) {
  const Fine was = unknown_bit | index;
  for (const Register destination : node.destinations) {
    if (values_[destination] == was) values_[destination] = value;
  }
  if (branch_ == was) branch_ = value;
  if (last_value_ == was) last_value_ = value;
  if (node.position != nowhere) {
    Slot& here = slot(node.position);
    here.time = value;
    here.walk = node.walk;
    here.cause = node.cause;
  }
  stores_.resolve(node.first_store, node.last_store, value);
}

void WindowCore::arrived(Waiter waiter, Tick now) {
  if ((waiter & StoreBuffer::is_mine) != 0) {
    stores_.arrived(waiter, now);
    return;
  }
  const Node& node = nodes_[waiter];
  if (node.guess == 0) counts_.load_latency.add((now - node.asked).ps());
  resolve(waiter, fine(now));
}

void WindowCore::translated(Waiter waiter, Tick now) {
  if ((waiter & StoreBuffer::is_mine) != 0) {
    stores_.translated(waiter);
    return;
  }
  Node& node = nodes_[waiter];
  node.place.translated = true;
  node.walk = fine(now - node.asked);
  ask(waiter);
}

void WindowCore::due(Waiter token, Tick now) {
  if ((token & StoreBuffer::is_mine) != 0) {
    stores_.due(token, now);
  } else {
    ask(token);
  }
}

void WindowCore::retry(Tick now) {
  std::vector<Index> again;
  again.swap(refused_);
  for (const Index index : again) ask(index);
  stores_.retry(now);
}

}  // namespace nearfar::sim::cpu
