#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bindings/convert.h"
#include "library/checkpoint.h"
#include "library/memory.h"
#include "library/model.h"
#include "library/play.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace nearfar;
using namespace nearfar::bindings;

namespace {

template <typename Number>
using Column = nb::ndarray<const Number, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename Number>
std::span<const Number> span_of(const Column<Number>& column) {
  return {column.data(), column.size()};
}

template <typename Item>
nb::bytes bytes_of(std::span<const Item> items) {
  return nb::bytes(static_cast<const void*>(items.data()), items.size_bytes());
}

/// A memory whose requests come and go as columns.
class BoundMemory {
 public:
  explicit BoundMemory(const std::string& model)
      : model_(library::Model::parse(model, NEARFAR_VERSION)), memory_(model_.settings) {}

  /// How many were taken, from the first.
  std::size_t send(const Column<std::uint64_t>& ids, const Column<std::uint64_t>& addresses,
                   const Column<std::uint8_t>& writes, const Column<std::uint64_t>& times,
                   std::uint16_t port) {
    std::size_t sent = 0;
    for (; sent < ids.size(); ++sent) {
      const sim::Request request{
          .id = ids.data()[sent],
          .address = Address(addresses.data()[sent]),
          .op = writes.data()[sent] != 0 ? sim::Op::write : sim::Op::read,
          .port = port,
      };
      if (!memory_.send(request, Tick(times.data()[sent]))) break;
    }
    return sent;
  }

  void advance(std::uint64_t until_ps) { memory_.advance(Tick(until_ps)); }
  void advance_to_completion() { memory_.advance_to_completion(Tick::never()); }

  nb::bytes completions() {
    const auto come = memory_.completions();
    const nb::bytes taken = bytes_of(come);
    memory_.take(come.size());
    return taken;
  }

  nb::tuple play(const Column<std::uint64_t>& addresses, const Column<std::uint8_t>& writes,
                 const Column<std::uint64_t>& times, std::uint64_t outstanding) {
    const library::Arrivals arrivals{span_of(addresses), span_of(writes), span_of(times)};
    const library::Played played = library::play(memory_, arrivals, outstanding);
    return nb::make_tuple(bytes_of(std::span<const std::uint64_t>(played.accepted_ps)),
                          bytes_of(std::span<const std::uint64_t>(played.done_ps)));
  }

  [[nodiscard]] std::uint64_t next_event() const { return memory_.next_event().ps(); }
  [[nodiscard]] std::uint64_t now() const { return memory_.now().ps(); }
  [[nodiscard]] std::uint64_t capacity() const { return memory_.capacity(); }
  [[nodiscard]] std::uint64_t unfinished() const { return memory_.unfinished(); }
  nb::dict counters() { return to_dict(memory_.read_counters()); }

  nb::bytes save() {
    const std::string saved = library::save(memory_, model_, NEARFAR_VERSION);
    return nb::bytes(saved.data(), saved.size());
  }
  void restore(const nb::bytes& saved) {
    memory_ = library::restore(model_, NEARFAR_VERSION, {saved.c_str(), saved.size()});
  }

 private:
  library::Model model_;
  library::Memory memory_;
};

}  // namespace

void bind_library(nb::module_& module) {
  nb::class_<BoundMemory>(module, "Memory")
      .def(nb::init<const std::string&>(), "model"_a)
      .def("send", &BoundMemory::send, "ids"_a, "addresses"_a, "writes"_a, "times"_a, "port"_a)
      .def("advance", &BoundMemory::advance, "until_ps"_a)
      .def("advance_to_completion", &BoundMemory::advance_to_completion)
      .def("completions", &BoundMemory::completions)
      .def("play", &BoundMemory::play, "addresses"_a, "writes"_a, "times"_a, "outstanding"_a)
      .def("next_event", &BoundMemory::next_event)
      .def("now", &BoundMemory::now)
      .def("capacity", &BoundMemory::capacity)
      .def("unfinished", &BoundMemory::unfinished)
      .def("counters", &BoundMemory::counters)
      .def("save", &BoundMemory::save)
      .def("restore", &BoundMemory::restore, "saved"_a);
}
