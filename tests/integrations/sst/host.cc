// A host of the SST backend on the stand-in, for tests: host MODEL stream|rules
//
//   stream  plays requests from standard input, as examples/library/replay.c does; after a refusal it
//           asks again whenever the backend has woken itself, where SST would do so at clock edges
//   rules   polling by a clock, requests of several lines, checkpoints, an idle second
#include <cstdlib>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "nearfar_backend.h"

using SST::simulation;
using SST::Nearfar::Backend;
using Serializer = SST::Core::Serialization::serializer;

namespace {

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "expected " << what << " at " << simulation.now << '\n';
  std::exit(3);
}

/// A controller that issues requests in order, each at its time at the earliest, and asks again a
/// `cycle` after a refusal; 0: after the next event.
class Controller {
 public:
  struct Request {
    std::uint64_t due, address;
    bool write;
    unsigned bytes = 64;
    std::uint64_t accepted = 0, done = 0;
  };

  Controller(Backend& backend, std::uint64_t cycle) : backend_(&backend), cycle_(cycle) {
    take(backend);
  }

  /// Goes on with a backend that was restored.
  void take(Backend& backend) {
    backend_ = &backend;
    backend.setResponseHandler([this](std::uint64_t id) {
      expect(in_flight_.erase(id) == 1, "a response to a request that was accepted");
      requests[id].done = simulation.now;
    });
  }
  void start() {
    if (next_ < requests.size()) {
      simulation.at(std::max(simulation.now, requests[next_].due), [this] { issue(); });
    }
  }
  bool is_over() const { return next_ == requests.size() && in_flight_.empty(); }

  std::vector<Request> requests;
  std::uint64_t refusals = 0;

 private:
  void issue() {
    Request& request = requests[next_];
    in_flight_.insert(next_);
    if (!backend_->issueRequest(next_, request.address, request.write, request.bytes)) {
      in_flight_.erase(next_);
      ++refusals;
      simulation.at(cycle_ == 0 ? simulation.next() : simulation.now + cycle_, [this] { issue(); });
      return;
    }
    request.accepted = simulation.now;
    ++next_;
    start();
  }

  Backend* backend_;
  std::uint64_t cycle_;
  std::size_t next_ = 0;
  std::set<std::uint64_t> in_flight_;
};

SST::Params params_of(const std::string& model) {
  SST::Params params;
  params.values = {{"model", model}, {"mem_size", "1073741824"}};
  return params;
}

void print(const Backend& backend) {
  for (const auto& [name, value] : backend.statistics) {
    std::cout << name << " = " << value.sum << '\n';
  }
}

void stream(const std::string& model) {
  SST::Params params = params_of(model);
  Backend backend(1, params);
  backend.wired_up = true;
  Controller controller(backend, 0);
  std::uint64_t due = 0;
  std::string address;
  char op = 0;
  while (std::cin >> due >> address >> op) {
    controller.requests.push_back({due, std::stoull(address, nullptr, 0), op == 'W'});
  }
  controller.start();
  simulation.run();
  expect(controller.is_over(), "every request answered");
  for (const auto& request : controller.requests) {
    std::cout << request.accepted << ' ' << request.done << '\n';
  }
  backend.finish();
  print(backend);
}

std::vector<Controller::Request> requests(std::uint64_t from) {
  std::vector<Controller::Request> made;
  for (std::uint64_t i = 0; i < 400; ++i) {
    made.push_back({from, i * i * 192 % (1 << 22), i % 3 == 0, static_cast<unsigned>(1 + i % 200)});
  }
  return made;
}

std::vector<std::uint64_t> latencies(Backend& backend) {
  Controller controller(backend, 1000);
  const std::uint64_t start = simulation.now;
  controller.requests = requests(start);
  controller.start();
  simulation.run();
  expect(controller.is_over(), "every request answered");
  expect(controller.refusals > 100, "refusals");
  std::vector<std::uint64_t> found;
  for (const auto& request : controller.requests) found.push_back(request.done - start);
  return found;
}

void rules(const std::string& model) {
  SST::Params params = params_of(model);
  Backend backend(1, params);
  expect(!backend.isClocked(), "no clock");
  latencies(backend);

  const std::uint64_t before = simulation.executed;
  simulation.run(simulation.now + 1000000000000);
  expect(simulation.executed == before, "no event in an idle second");

  Serializer packed(Serializer::PACK);
  backend.serialize_order(packed);
  const std::uint64_t saved = simulation.now;
  const auto uninterrupted = latencies(backend);
  Backend restored(1, params);
  packed.rewind(Serializer::UNPACK);
  restored.serialize_order(packed);
  SST::Simulation later;
  later.now = saved;
  std::swap(simulation, later);
  expect(latencies(restored) == uninterrupted, "the latencies of the uninterrupted run");
  std::cout << "rules hold\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string mode = argv[2];
  if (mode == "stream") stream(argv[1]);
  if (mode == "rules") rules(argv[1]);
  return 0;
}
