#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <variant>

#include "base/error.h"
#include "bindings/convert.h"
#include "sim/machine/crash.h"
#include "sim/persistence/states.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace nearfar;
using namespace nearfar::bindings;
namespace persistence = nearfar::sim::persistence;

static_assert(std::endian::native == std::endian::little, "words cross as little-endian bytes");

namespace {

using Place = std::variant<std::uint64_t, std::string>;

/// A program with the names its text gives to addresses and labels.
struct NamedProgram {
  persistence::Program program;
  std::map<std::string, std::uint64_t> addresses;
  std::map<std::string, std::uint32_t> labels;
  std::vector<std::uint64_t> lines;  ///< of the text, by operation
  /// Frames of the pages that a program with virtual addresses has touched; empty: addresses are
  /// the memory's.
  std::map<std::uint64_t, std::uint64_t> frames;
};

constexpr Bytes page_bytes = 4096;

/// What a predicate is given: the state of the moment. If a predicate keeps it, it
/// outlives the moment, and then says so.
class CrashImage {
 public:
  using Current = std::shared_ptr<const persistence::CrashState*>;

  CrashImage(std::shared_ptr<const NamedProgram> program, Current current)
      : program_(std::move(program)), current_(std::move(current)) {}

  [[nodiscard]] std::uint64_t u64(const Place& place) const {
    const Address address = resolve(place);
    if (address.value() % 8 != 0) {
      throw nb::value_error(
          ("u64: address " + std::to_string(address.value()) + " is not a multiple of 8").c_str());
    }
    return word(address);
  }

  [[nodiscard]] nb::bytes bytes(const Place& place, std::uint64_t count) const {
    const Address address = resolve(place);
    std::string result;
    for (std::uint64_t i = 0; i < count; ++i) {
      const Address at = address + i;
      result += static_cast<char>(word(at.aligned_down(8)) >> at.value() % 8 * 8);
    }
    return nb::bytes(result.data(), result.size());
  }

  /// Whether all that a line of the text stores is in the image, if only under later stores.
  [[nodiscard]] bool survived(std::uint64_t text_line) const {
    const auto& lines = program_->lines;
    bool any = false;
    for (std::uint32_t op = 0; op < lines.size(); ++op) {
      if (lines[op] != text_line || !persistence::is_store(program_->program[op].kind)) continue;
      if (!state().persisted(op)) return false;
      any = true;
    }
    if (!any) throw nb::key_error(("no store in " + std::to_string(text_line)).c_str());
    return true;
  }

  [[nodiscard]] bool passed(const std::string& label) const {
    const auto found = program_->labels.find(label);
    if (found == program_->labels.end()) throw nb::key_error(("no label " + label).c_str());
    return state().passed(found->second);
  }

  /// Stores that are in the image, and stores that are not though they had happened or later ones
  /// of their thread are.
  [[nodiscard]] std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>> stores() const {
    std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>> result;
    const persistence::Program& program = program_->program;
    std::vector<std::uint32_t> last(program.threads().size());
    for (std::uint32_t op = 0; op < program.size(); ++op) {
      if (!persistence::is_store(program[op].kind) || !state().persisted(op)) continue;
      result.first.push_back(op);
      last[program[op].thread] = op;
    }
    for (std::uint32_t op = 0; op < program.size(); ++op) {
      if (!persistence::is_store(program[op].kind) || state().persisted(op)) continue;
      if (state().happened(op) || op < last[program[op].thread]) result.second.push_back(op);
    }
    return result;
  }

 private:
  [[nodiscard]] const persistence::CrashState& state() const {
    if (*current_ == nullptr) {
      throw nb::value_error("a crash image can be read while the check runs, not afterwards");
    }
    return **current_;
  }

  [[nodiscard]] Address resolve(const Place& place) const {
    if (const auto* number = std::get_if<std::uint64_t>(&place)) return Address(*number);
    const auto& text = std::get<std::string>(place);
    const std::size_t plus = text.find('+');
    const auto found = program_->addresses.find(text.substr(0, plus));
    if (found == program_->addresses.end()) throw nb::key_error(("no name " + text).c_str());
    if (plus == std::string::npos) return Address(found->second);
    char* end = nullptr;
    const std::uint64_t offset = std::strtoull(text.c_str() + plus + 1, &end, 0);
    if (end != text.c_str() + text.size()) throw nb::key_error(("no name " + text).c_str());
    return Address(found->second) + offset;
  }

  /// Memory that the program does not name holds zeros.
  [[nodiscard]] std::uint64_t word(Address address) const {
    if (!program_->frames.empty()) {
      const auto frame = program_->frames.find(address.block(page_bytes));
      if (frame == program_->frames.end()) return 0;
      address = Address(frame->second * page_bytes + address.value() % page_bytes);
    }
    const auto line = program_->program.find_line(address);
    return line ? state().words(*line)[address.value() % line_bytes / 8] : 0;
  }

  std::shared_ptr<const NamedProgram> program_;
  Current current_;
};

/// `each` words an item, as little-endian bytes.
std::vector<std::uint64_t> words_of(const nb::bytes& bytes, std::size_t each) {
  if (bytes.size() % (8 * each) != 0) {
    throw InputError("crash: found " + std::to_string(bytes.size()) +
                     " bytes, expected a multiple of " + std::to_string(8 * each));
  }
  std::vector<std::uint64_t> words(bytes.size() / 8);
  if (!words.empty()) std::memcpy(words.data(), bytes.c_str(), bytes.size());
  return words;
}

persistence::Program unpack(const nb::bytes& operation_words, const nb::bytes& initial_words) {
  std::vector<persistence::Operation> operations;
  const std::vector<std::uint64_t> packed = words_of(operation_words, 5);
  for (auto word = packed.begin(); word != packed.end(); word += 5) {
    if (word[0] >= persistence::kinds || word[1] > 0xffff) {
      throw InputError("crash: operation " + std::to_string(operations.size()) +
                       " is of no known kind or thread");
    }
    operations.push_back({static_cast<persistence::Kind>(word[0]),
                          static_cast<std::uint32_t>(word[1]), Address(word[2]), word[3], word[4]});
  }
  std::vector<std::pair<Address, std::uint64_t>> initial;
  const std::vector<std::uint64_t> values = words_of(initial_words, 2);
  for (auto word = values.begin(); word != values.end(); word += 2) {
    initial.emplace_back(Address(word[0]), word[1]);
  }
  return {std::move(operations), initial};
}

class CrashProgram {
 public:
  CrashProgram(const nb::bytes& operations, const nb::bytes& initial,
               std::map<std::string, std::uint64_t> addresses,
               std::map<std::string, std::uint32_t> labels, std::vector<std::uint64_t> lines,
               std::map<std::uint64_t, std::uint64_t> frames)
      : named_(std::make_shared<NamedProgram>(NamedProgram{unpack(operations, initial),
                                                           std::move(addresses), std::move(labels),
                                                           std::move(lines), std::move(frames)})) {}

  nb::dict states(const nb::callable& visit, bool eadr, std::optional<std::uint32_t> from,
                  std::optional<std::uint32_t> to, std::uint64_t max_states, std::uint64_t seed) {
    const persistence::Question question = question_of(eadr, from, to, max_states, seed);
    const auto current = std::make_shared<const persistence::CrashState*>(nullptr);
    const Moment moment{*current};
    const nb::object image = nb::cast(CrashImage(named_, current), nb::rv_policy::move);
    allowed_ = {};
    const auto answer =
        persistence::visit_states(named_->program, question, [&](const auto& state) {
          *current = &state;
          allowed_.add(persistence::fingerprint(named_->program, state));
          visit(image);
        });
    exhaustive_ = answer.exhaustive;
    nb::dict dict;
    dict["states"] = answer.states;
    dict["exhaustive"] = answer.exhaustive;
    dict["combinations"] = answer.combinations;
    dict["stuck"] = answer.stuck;
    return dict;
  }

  /// To be asked after states(), with the same question. Throws std::logic_error when the machine
  /// does what the rules forbid.
  std::uint64_t runs(const std::string& settings, const nb::callable& visit, bool eadr,
                     std::optional<std::uint32_t> from, std::optional<std::uint32_t> to,
                     std::uint32_t runs, std::uint64_t seed) const {
    const persistence::Question question = question_of(eadr, from, to, 0, seed);
    const auto current = std::make_shared<const persistence::CrashState*>(nullptr);
    const Moment moment{*current};
    const nb::object image = nb::cast(CrashImage(named_, current), nb::rv_policy::move);
    return sim::visit_runs(
        Settings::parse(settings), named_->program, question, runs, [&](const auto& state) {
          if (exhaustive_ && !allowed_.has(persistence::fingerprint(named_->program, state))) {
            throw std::logic_error("a run has left a state that x86 does not allow");
          }
          *current = &state;
          visit(image);
        });
  }

 private:
  static persistence::Question question_of(bool eadr, std::optional<std::uint32_t> from,
                                           std::optional<std::uint32_t> to,
                                           std::uint64_t max_states, std::uint64_t seed) {
    persistence::Question question;
    question.eadr = eadr;
    question.from = from;
    question.to = to;
    question.max_states = max_states;
    question.seed = seed;
    question.poll = [polls = std::uint64_t{0}]() mutable {
      if (++polls % 1024 == 0) raise_signals();
    };
    return question;
  }

  /// Ends the images' time, however the visit ends.
  struct Moment {
    const persistence::CrashState*& current;
    ~Moment() { current = nullptr; }
  };

  std::shared_ptr<const NamedProgram> named_;
  persistence::ImageSet allowed_;  ///< what the last states() has visited
  bool exhaustive_ = false;  ///< and whether that was all
};

}  // namespace

void bind_crash(nb::module_& module) {
  nb::class_<CrashImage>(module, "CrashImage")
      .def("u64", &CrashImage::u64, "place"_a)
      .def("bytes", &CrashImage::bytes, "place"_a, "count"_a)
      .def("survived", &CrashImage::survived, "line"_a)
      .def("passed", &CrashImage::passed, "label"_a)
      .def("stores", &CrashImage::stores);
  nb::class_<CrashProgram>(module, "CrashProgram")
      .def(nb::init<const nb::bytes&, const nb::bytes&, std::map<std::string, std::uint64_t>,
                    std::map<std::string, std::uint32_t>, std::vector<std::uint64_t>,
                    std::map<std::uint64_t, std::uint64_t>>(),
           "operations"_a, nb::kw_only(), "initial"_a, "addresses"_a, "labels"_a, "lines"_a,
           "frames"_a)
      .def("states", &CrashProgram::states, "visit"_a, nb::kw_only(), "eadr"_a,
           "from_label"_a.none(), "to_label"_a.none(), "max_states"_a, "seed"_a)
      .def("runs", &CrashProgram::runs, "settings"_a, "visit"_a, nb::kw_only(), "eadr"_a,
           "from_label"_a.none(), "to_label"_a.none(), "runs"_a, "seed"_a);
}
