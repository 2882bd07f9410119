// A stream through the C interface of the library: bench_library MODEL STREAM FOOTPRINT REQUESTS,
// as bench_machine takes it. What it costs above bench_machine is the boundary's.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>

#include "library/include/nearfar/memory.h"
#include "sim/request.h"
#include "sim/sink.h"
#include "streams.h"

namespace {

using nearfar::Tick;

/// The calls of a stream's driver as those of the C interface.
class Boundary {
 public:
  explicit Boundary(const char* model) {
    nearfar_memory* made = nullptr;
    if (nearfar_memory_open(model, &made) != NEARFAR_OK) throw std::runtime_error(nearfar_error());
    memory_.reset(made);
  }

  nearfar::sim::Accept try_send(const nearfar::sim::Request& request, Tick now) {
    nearfar_request given{};
    given.id = request.id;
    given.address = request.address.value();
    given.op = static_cast<std::uint8_t>(request.op);
    const int status = nearfar_memory_send(memory_.get(), &given, now.ps());
    if (status < 0) throw std::runtime_error(nearfar_error());
    return {.accepted = status == NEARFAR_OK, .retry_at = now};
  }

  Tick advance_to_completion(Tick, nearfar::sim::Sink& sink) {
    nearfar_completion come[8];
    const int count = nearfar_memory_wait(memory_.get(), NEARFAR_NEVER, come, 8);
    if (count < 0) throw std::runtime_error(nearfar_error());
    for (int i = 0; i < count; ++i) {
      sink.push_back({.time = Tick(come[i].time_ps),
                      .id = come[i].id,
                      .address = nearfar::Address(come[i].address),
                      .kind = static_cast<nearfar::sim::Completion::Kind>(come[i].kind)});
    }
    return sink.back().time;
  }

 private:
  struct Destroy {
    void operator()(nearfar_memory* memory) const { nearfar_memory_destroy(memory); }
  };
  std::unique_ptr<nearfar_memory, Destroy> memory_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: bench_library MODEL STREAM FOOTPRINT REQUESTS\n");
    return 2;
  }
  try {
    bool known = false;
    const auto stream =
        nearfar::bench::stream_named(argv[2], std::strtoull(argv[3], nullptr, 10), known);
    if (!known) throw std::runtime_error("no such stream");
    Boundary memory(argv[1]);
    nearfar::bench::print(
        nearfar::bench::play(memory, stream, std::strtoull(argv[4], nullptr, 10)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_library: %s\n", error.what());
    return 1;
  }
  return 0;
}
