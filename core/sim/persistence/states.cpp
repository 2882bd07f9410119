#include "sim/persistence/states.h"

#include "sim/persistence/explore.h"

namespace nearfar::sim::persistence {

Answer visit_states(const Program& program, const Question& question, const Visitor& visit) {
  return program.threads().size() > 1 ? visit_threads(program, question, visit)
                                      : visit_one_thread(program, question, visit);
}

}  // namespace nearfar::sim::persistence
