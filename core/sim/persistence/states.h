#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/persistence/image_set.h"
#include "sim/persistence/program.h"

/// What a crash can leave of a program's stores, by the rules of x86.
///
/// The machine these rules speak of (docs/persistence.md derives them, with their sources):
///
/// * A thread's stores, clflushes and fences leave its store buffer in order; a store that has
///   left is visible to all. A load sees the thread's own stores first. A label, an event that
///   the outside world sees, keeps its place among the stores.
/// * A line that is visible may reach the persistence domain at any moment, whole: of the stores
///   to a line, those that became visible first have persisted.
/// * clflush leaves when its line has persisted as it then is. clwb and clflushopt are done
///   behind the thread's earlier stores to that line, in any order with all else, and the next
///   fence of the thread leaves when they have persisted what they saw.
/// * A non-temporal store becomes visible and persists at once, whole words in any order with
///   all else between two fences, but behind earlier stores of its thread to the same line
///   (those to other words, if they are non-temporal too, excepted); a later store or clflush of
///   that line waits for it. The next fence leaves behind it.
/// * sfence, mfence and locked instructions are fences. mfence and locked instructions also hold
///   up later loads.
/// * With eADR, what is visible has persisted.
namespace nearfar::sim::persistence {

/// One way in which the crash can come out.
class CrashState {
 public:
  virtual ~CrashState() = default;

  [[nodiscard]] virtual const Words& words(std::uint32_t line) const = 0;
  /// Whether the world has seen the label.
  [[nodiscard]] virtual bool passed(std::uint32_t label) const = 0;
  /// Whether the store, an operation, is in the image.
  [[nodiscard]] virtual bool persisted(std::uint32_t op) const = 0;
  /// Operations that had happened when the power failed: they had left the store buffer, or, if
  /// nothing keeps them in order, could have.
  [[nodiscard]] virtual bool happened(std::uint32_t op) const = 0;

 protected:
  CrashState() = default;
  CrashState(const CrashState&) = default;
  CrashState& operator=(const CrashState&) = default;
};

struct Question {
  bool eadr = false;                  ///< caches belong to the persistence domain
  std::optional<std::uint32_t> from;  ///< only crashes after this label has been passed
  std::optional<std::uint32_t> to;    ///< and before this one has
  std::uint64_t max_states = 0;       ///< beyond that, so many are drawn instead
  std::uint64_t seed = 1;
  std::function<void()> poll;  ///< called now and then; may throw to end it
};

struct Answer {
  std::uint64_t states = 0;  ///< visited; no two are equal in image and labels passed
  bool exhaustive = true;    ///< every state there is has been visited
  /// In how many ways stores can have persisted or not; several may leave the same image. Known
  /// for one thread.
  std::optional<double> combinations;
  /// An await or compare_exchange that is never passed, when no way leads to the end.
  std::optional<std::uint32_t> stuck;
};

/// A state's image and labels.
[[nodiscard]] Fingerprint fingerprint(const Program& program, const CrashState& state);

using Visitor = std::function<void(const CrashState&)>;

/// Visits every state that x86 allows, each once and in an order that depends on the program
/// alone, or, where there are more than `max_states`, so many drawn at random.
///
/// Throws InputError when a line can end in too many ways to be remembered.
Answer visit_states(const Program& program, const Question& question, const Visitor& visit);

}  // namespace nearfar::sim::persistence
