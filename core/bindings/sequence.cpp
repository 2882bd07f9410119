#include "sim/machine/sequence.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <bit>
#include <cstring>

#include "base/error.h"
#include "bindings/convert.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace nearfar;
using namespace nearfar::bindings;

static_assert(std::endian::native == std::endian::little, "words cross as little-endian bytes");

namespace {

std::vector<std::uint64_t> words_of(const nb::bytes& bytes) {
  if (bytes.size() % sizeof(std::uint64_t) != 0) {
    throw InputError("sequence: steps has " + std::to_string(bytes.size()) +
                     " bytes, expected a multiple of 8");
  }
  std::vector<std::uint64_t> words(bytes.size() / sizeof(std::uint64_t));
  if (!words.empty()) std::memcpy(words.data(), bytes.c_str(), bytes.size());
  return words;
}

nb::bytes bytes_of(const std::vector<std::uint64_t>& words) {
  return nb::bytes(words.data(), words.size() * sizeof(std::uint64_t));
}

nb::dict sequence(const std::string& settings, const nb::bytes& steps, std::uint32_t outstanding,
                  const std::string& agent, std::uint64_t seed, std::uint64_t untimed) {
  if (agent != "core" && agent != "none") {
    throw InputError("agent '" + agent + "' is not known, expected core or none");
  }
  sim::Sequence sequence;
  sequence.steps = words_of(steps);
  sequence.core = agent == "core";
  sequence.outstanding = outstanding;
  sequence.untimed = untimed;
  const sim::SequenceTimes times = sim::play(settings_of(settings, seed), sequence, raise_signals);
  nb::dict dict;
  dict["issued_ps"] = bytes_of(times.issued);
  dict["done_ps"] = bytes_of(times.done);
  dict["elapsed_ps"] = times.elapsed.ps();
  dict["counters"] = bindings::to_dict(times.counters);
  return dict;
}

}  // namespace

void bind_sequence(nb::module_& module) {
  module.def("sequence", sequence, "settings"_a, nb::kw_only(), "steps"_a, "outstanding"_a,
             "agent"_a, "seed"_a, "untimed"_a = 0);
}
