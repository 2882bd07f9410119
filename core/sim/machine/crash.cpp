#include "sim/machine/crash.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "sim/machine/build.h"
#include "sim/machine/crash_cores.h"
#include "sim/persistence/image_set.h"

namespace nearfar::sim {
namespace {

/// The state that a loss of power would leave now.
class Now final : public persistence::CrashState {
 public:
  Now(const persistence::Program& program, const CrashCores& cores)
      : program_(program),
        cores_(cores),
        stores_(program.lines().size()),
        words_(program.lines().size()) {}

  void look(bool eadr) {
    for (std::uint32_t line = 0; line < stores_.size(); ++line) {
      const std::uint32_t before = stores_[line];
      stores_[line] = eadr ? cores_.visible(line) : cores_.durable(line);
      // Everything acknowledged is there, and nothing that was there goes.
      if (stores_[line] < before || (!eadr && stores_[line] < cores_.acknowledged(line))) {
        throw std::logic_error("the memory has lost a line that it had taken");
      }
      words_[line] = program_.lines()[line].initial;
      for (std::uint32_t i = 0; i < stores_[line]; ++i) {
        const std::uint32_t op = cores_.order(line)[i];
        words_[line][program_.word_of(op)] = program_[op].value;
      }
    }
  }

  [[nodiscard]] const persistence::Words& words(std::uint32_t line) const override {
    return words_[line];
  }
  [[nodiscard]] bool passed(std::uint32_t label) const override { return cores_.passed()[label]; }
  [[nodiscard]] bool persisted(std::uint32_t op) const override {
    const std::uint32_t line = program_.line_of(op);
    const auto begin = cores_.order(line).begin();
    return std::find(begin, begin + stores_[line], op) != begin + stores_[line];
  }
  [[nodiscard]] bool happened(std::uint32_t op) const override {
    return cores_.left(op) || persisted(op);
  }

 private:
  const persistence::Program& program_;
  const CrashCores& cores_;
  std::vector<std::uint32_t> stores_;  ///< by line, how many persisted
  std::vector<persistence::Words> words_;
};

}  // namespace

std::uint64_t visit_runs(const Settings& model, const persistence::Program& program,
                         const persistence::Question& question, std::uint32_t runs,
                         const persistence::Visitor& visit) {
  persistence::ImageSet seen;
  for (std::uint32_t run = 0; run < runs; ++run) {
    const std::unique_ptr<Device> memory = build(model);
    CrashCores cores(*memory, program, question.seed + run);
    Now now(program, cores);
    do {
      if (question.poll) question.poll();
      if (question.to && cores.passed()[*question.to]) break;
      if (question.from && !cores.passed()[*question.from]) continue;
      now.look(question.eadr);
      if (seen.add(persistence::fingerprint(program, now))) visit(now);
    } while (cores.step());
  }
  return seen.size();
}

}  // namespace nearfar::sim
