#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "sim/persistence/explore.h"
#include "sim/persistence/one_thread.h"

namespace nearfar::sim::persistence {
namespace {

/// One version of each line.
class ChosenVersions final : public CrashState {
 public:
  ChosenVersions(const Program& program, const OneThread& thread)
      : program_(program), thread_(thread), number_(program.size()) {
    for (const Program::Line& line : program.lines()) {
      for (std::uint32_t i = 0; i < line.stores.size(); ++i) number_[line.stores[i]] = i;
    }
    versions.resize(program.lines().size());
  }

  [[nodiscard]] const Words& words(std::uint32_t line) const override {
    return versions[line]->words;
  }
  [[nodiscard]] bool passed(std::uint32_t label) const override { return thread_.passed()[label]; }
  [[nodiscard]] bool persisted(std::uint32_t op) const override {
    return versions[program_.line_of(op)]->has(number_[op]);
  }
  [[nodiscard]] bool happened(std::uint32_t op) const override {
    return op < after || persisted(op);
  }
  [[nodiscard]] Fingerprint print() const {
    Fingerprint print = fingerprint(thread_.passed());
    for (const LineVersion* version : versions) print = print ^ version->print;
    return print;
  }

  std::vector<const LineVersion*> versions;
  std::uint32_t after = 0;

 private:
  const Program& program_;
  const OneThread& thread_;
  std::vector<std::uint32_t> number_;  ///< of a store among those of its line
};

/// Goes through a box as an odometer does.
template <typename Visit>
void every_state(const OneThread::Box& box, ChosenVersions& state, const Visit& visit) {
  std::vector<std::uint32_t> open;
  for (std::uint32_t line = 0; line < box.lines.size(); ++line) {
    state.versions[line] = &box.lines[line].all()[box.first(line)];
    if (box.count(line) > 1) open.push_back(line);
  }
  state.after = box.after;
  for (bool more = true; more;) {
    visit();
    more = false;
    for (const std::uint32_t line : open) {
      const std::vector<LineVersion>& all = box.lines[line].all();
      if (++state.versions[line] != all.data() + all.size()) {
        more = true;
        break;
      }
      state.versions[line] = &all[box.first(line)];
    }
  }
}

void draw_state(const OneThread::Box& box, ChosenVersions& state, Rng& rng) {
  for (std::uint32_t line = 0; line < box.lines.size(); ++line) {
    state.versions[line] = &box.lines[line].all()[box.first(line) + rng.below(box.count(line))];
  }
  state.after = box.after;
}

}  // namespace

Answer visit_one_thread(const Program& program, const Question& question, const Visitor& visit) {
  OneThread thread(program, question);
  Answer answer;
  double combinations = 0;
  thread.boxes([&](const OneThread::Box& box) { combinations += box.size(); });
  answer.combinations = combinations;

  ChosenVersions state(program, thread);
  ImageSet seen;
  const auto once = [&] {
    if (seen.add(state.print())) visit(state);
  };
  answer.exhaustive = combinations <= static_cast<double>(question.max_states);
  if (answer.exhaustive) {
    thread.boxes([&](const OneThread::Box& box) { every_state(box, state, once); });
  } else {
    Rng rng(question.seed);
    std::vector<double> draws(question.max_states);
    for (double& draw : draws) draw = rng.uniform() * combinations;
    std::sort(draws.begin(), draws.end());
    std::size_t next = 0;
    double end = 0;
    thread.boxes([&](const OneThread::Box& box) {
      end += box.size();
      for (; next < draws.size() && draws[next] < end; ++next) {
        draw_state(box, state, rng);
        once();
      }
    });
  }
  answer.states = seen.size();
  answer.stuck = thread.stuck();
  return answer;
}

}  // namespace nearfar::sim::persistence
