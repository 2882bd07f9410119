#include <algorithm>

#include "base/rng.h"
#include "sim/persistence/explore.h"
#include "sim/persistence/threads.h"

namespace nearfar::sim::persistence {
namespace {

/// Places in the threads' programs that are remembered, 50 bytes each.
constexpr std::uint64_t most_places = 4'000'000;

/// A place in the program, and how much of what is visible in each line has persisted.
class Chosen final : public CrashState {
 public:
  explicit Chosen(const Program& program) : program_(program), counts(program.lines().size()) {}

  /// Everything that may have persisted at `threads`; the counts are to be chosen.
  void stand_at(const Threads& threads) {
    threads_ = &threads;
    contents_.clear();
    prints_.clear();
    for (std::uint32_t line = 0; line < program_.lines().size(); ++line) {
      Words words = program_.lines()[line].initial;
      std::vector<Words>& after = contents_.emplace_back(1, words);
      std::vector<Fingerprint>& prints = prints_.emplace_back(1, fingerprint(line, words));
      for (const std::uint32_t op : threads.lines()[line].visible) {
        words[program_.word_of(op)] = program_[op].value;
        after.push_back(words);
        prints.push_back(fingerprint(line, words));
      }
    }
  }

  [[nodiscard]] const Words& words(std::uint32_t line) const override {
    return contents_[line][counts[line]];
  }
  [[nodiscard]] bool passed(std::uint32_t label) const override {
    return threads_->passed()[label];
  }
  [[nodiscard]] bool persisted(std::uint32_t op) const override {
    const std::uint32_t line = program_.line_of(op);
    const auto& visible = threads_->lines()[line].visible;
    const auto end = visible.begin() + counts[line];
    return std::find(visible.begin(), end, op) != end;
  }
  [[nodiscard]] bool happened(std::uint32_t op) const override { return threads_->left(op); }
  [[nodiscard]] Fingerprint print() const {
    Fingerprint print = fingerprint(threads_->passed());
    for (std::uint32_t line = 0; line < counts.size(); ++line) {
      print = print ^ prints_[line][counts[line]];
    }
    return print;
  }

 private:
  const Program& program_;
  const Threads* threads_ = nullptr;
  std::vector<std::vector<Words>> contents_;  ///< by line and stores persisted
  std::vector<std::vector<Fingerprint>> prints_;

 public:
  std::vector<std::uint32_t> counts;
};

class Explorer {
 public:
  Explorer(const Program& program, const Question& question)
      : program_(program), question_(question), state_(program) {}

  /// Visits every state; false when there are too many.
  bool explore(const Visitor& visit) {
    seen_ = {};
    places_ = {};
    ended_ = false;
    waiting_.assign(1, Threads(program_, question_.eadr));
    places_.add(waiting_.back().print());
    show(waiting_.back(), nothing, visit);
    while (!waiting_.empty()) {
      const Threads here = std::move(waiting_.back());
      waiting_.pop_back();
      if (question_.poll) question_.poll();
      const std::vector<std::uint32_t> next = here.enabled();
      if (next.empty()) end(here);
      // The last one pushed is looked at first.
      for (auto op = next.rbegin(); op != next.rend(); ++op) {
        if (!go(here, *op, visit)) return false;
      }
    }
    return true;
  }

  /// Visits states met on random ways through the program.
  void wander(const Visitor& visit) {
    seen_ = {};
    Rng rng(question_.seed);
    for (std::uint64_t draws = 0; draws < question_.max_states;) {
      Threads here(program_, question_.eadr);
      while (true) {
        if (open(here)) {
          draw(here, rng, visit);
          ++draws;
        }
        const std::vector<std::uint32_t> next = here.enabled();
        if (next.empty() || draws >= question_.max_states) break;
        const std::uint32_t op = next[rng.below(next.size())];
        if (closes(op)) break;
        here.leave(op);
      }
      ++draws;  // however few of them are asked for, an end comes
    }
  }

  [[nodiscard]] std::uint64_t states() const { return seen_.size(); }
  /// After explore(): where threads wait when none of the ways leads to the end.
  [[nodiscard]] std::optional<std::uint32_t> stuck() const {
    return ended_ ? std::nullopt : std::optional(stuck_);
  }

 private:
  static constexpr std::uint32_t nothing = ~std::uint32_t{0};

  bool go(const Threads& here, std::uint32_t op, const Visitor& visit) {
    if (closes(op)) {
      ended_ = true;
      return true;
    }
    Threads there = here;
    there.leave(op);
    if (!places_.add(there.print())) return true;
    show(there, op, visit);
    waiting_.push_back(std::move(there));
    return places_.size() <= most_places && seen_.size() <= question_.max_states;
  }

  void end(const Threads& here) {
    if (here.finished()) ended_ = true;
    if (!here.finished()) stuck_ = here.first_waiting();
  }

  [[nodiscard]] bool closes(std::uint32_t op) const {
    return program_[op].kind == Kind::label && question_.to == program_[op].value;
  }
  [[nodiscard]] bool open(const Threads& here) const {
    return !question_.from || here.passed()[*question_.from];
  }

  /// Visits what is possible since `op` left: a store must have persisted, or it was possible
  /// before.
  void show(const Threads& here, std::uint32_t op, const Visitor& visit) {
    if (!open(here)) return;
    const Kind kind = op == nothing ? Kind::label : program_[op].kind;
    if (!is_store(kind) && kind != Kind::label) return;
    state_.stand_at(here);
    const std::uint32_t fixed = is_store(kind) ? program_.line_of(op) : nothing;
    const auto lowest = [&](std::uint32_t line) {
      return line == fixed ? highest(here, line) : here.lines()[line].floor;
    };
    for (std::uint32_t line = 0; line < state_.counts.size(); ++line) {
      state_.counts[line] = lowest(line);
    }
    for (bool more = true; more;) {
      if (seen_.add(state_.print())) visit(state_);
      if (seen_.size() > question_.max_states) return;
      more = false;
      for (std::uint32_t line = 0; line < state_.counts.size() && !more; ++line) {
        more = state_.counts[line] < highest(here, line);
        state_.counts[line] = more ? state_.counts[line] + 1 : lowest(line);
      }
    }
  }

  void draw(const Threads& here, Rng& rng, const Visitor& visit) {
    state_.stand_at(here);
    for (std::uint32_t line = 0; line < state_.counts.size(); ++line) {
      const std::uint32_t floor = here.lines()[line].floor;
      state_.counts[line] =
          floor + static_cast<std::uint32_t>(rng.below(highest(here, line) - floor + 1));
    }
    if (seen_.add(state_.print())) visit(state_);
  }

  [[nodiscard]] static std::uint32_t highest(const Threads& here, std::uint32_t line) {
    return static_cast<std::uint32_t>(here.lines()[line].visible.size());
  }

  const Program& program_;
  const Question& question_;
  Chosen state_;
  ImageSet seen_;
  ImageSet places_;
  std::vector<Threads> waiting_;
  bool ended_ = false;
  std::uint32_t stuck_ = 0;
};

}  // namespace

Answer visit_threads(const Program& program, const Question& question, const Visitor& visit) {
  Explorer explorer(program, question);
  Answer answer;
  // Whether there are too many is known when they have been looked at.
  answer.exhaustive = explorer.explore([](const CrashState&) {});
  if (answer.exhaustive) {
    explorer.explore(visit);
    answer.stuck = explorer.stuck();
  } else {
    explorer.wander(visit);
  }
  answer.states = explorer.states();
  return answer;
}

}  // namespace nearfar::sim::persistence
