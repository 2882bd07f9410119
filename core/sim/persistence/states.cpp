#include "sim/persistence/states.h"

#include "sim/persistence/explore.h"

namespace nearfar::sim::persistence {

Fingerprint fingerprint(const Program& program, const CrashState& state) {
  std::vector<bool> labels(program.labels());
  for (std::uint32_t label = 0; label < labels.size(); ++label) {
    labels[label] = state.passed(label);
  }
  Fingerprint print = fingerprint(labels);
  for (std::uint32_t line = 0; line < program.lines().size(); ++line) {
    print = print ^ fingerprint(line, state.words(line));
  }
  return print;
}

Answer visit_states(const Program& program, const Question& question, const Visitor& visit) {
  return program.threads().size() > 1 ? visit_threads(program, question, visit)
                                      : visit_one_thread(program, question, visit);
}

}  // namespace nearfar::sim::persistence
