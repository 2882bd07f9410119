#pragma once

#include "sim/persistence/states.h"

/// The two ways to find a program's states, which visit_states() chooses from. Where both can
/// answer, they answer the same.
namespace nearfar::sim::persistence {

/// By boxes; for one thread. Draws are even over combinations.
Answer visit_one_thread(const Program& program, const Question& question, const Visitor& visit);

/// By playing every interleaving; for any number of threads, if the program is short. Draws are
/// even over each next step, so not over states.
Answer visit_threads(const Program& program, const Question& question, const Visitor& visit);

}  // namespace nearfar::sim::persistence
