#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/persistence/line_versions.h"
#include "sim/persistence/program.h"
#include "sim/persistence/states.h"

namespace nearfar::sim::persistence {

/// The states of a program of one thread, without looking at any twice.
///
/// The stores leave the buffer in the program's order, so each step of the program adds exactly
/// the states that have its own store, or the non-temporal ones that it lets go, in one line, and
/// any of what is possible in every other: a *box*, the product of the lines' versions. The boxes
/// are disjoint, so their sizes add up to the number of combinations, and one can be drawn from
/// all of them evenly.
class OneThread {
 public:
  OneThread(const Program& program, const Question& question);

  /// One box: the versions of `line` from its newest on, and all versions of the others; all
  /// versions of all lines if `line` is `whole`.
  struct Box {
    const std::vector<LineVersions>& lines;
    std::uint32_t line;
    std::uint32_t after;  ///< operations that have left the store buffer

    static constexpr std::uint32_t whole = ~std::uint32_t{0};
    [[nodiscard]] std::size_t first(std::uint32_t of) const {
      return of == line ? lines[of].newest() : 0;
    }
    [[nodiscard]] std::size_t count(std::uint32_t of) const {
      return lines[of].all().size() - first(of);
    }
    [[nodiscard]] double size() const;
  };
  using BoxVisitor = std::function<void(const Box&)>;

  /// The boxes between the question's two points, in the order of the program.
  void boxes(const BoxVisitor& visit);
  /// During boxes().
  [[nodiscard]] const std::vector<bool>& passed() const { return passed_; }
  /// After boxes(): the operation at which the program waits for ever.
  [[nodiscard]] std::optional<std::uint32_t> stuck() const { return stuck_; }

 private:
  struct Flush {
    std::uint32_t line;
    std::uint32_t stores;  ///< of the line, that it is behind
  };

  void restart();
  void step(std::uint32_t op, const BoxVisitor& visit);
  void fence();
  void let_go(std::uint32_t op, const BoxVisitor& visit);
  [[nodiscard]] bool waits_for_ever(std::uint32_t op) const;

  const Program& program_;
  const Question& question_;
  /// By operation, and last those that nothing holds up: the lines whose next stores may persist
  /// once it has left, and up to which of them.
  std::vector<std::vector<Flush>> opens_;
  std::vector<std::uint32_t> number_;  ///< by operation: stores of its line before it

  std::vector<LineVersions> lines_;
  std::vector<Flush> flushes_;          ///< not fenced yet
  std::vector<Flush> non_temporal_;     ///< not fenced yet
  std::vector<Words> newest_;           ///< what the thread itself reads
  std::vector<bool> passed_;
  bool open_ = false;
  bool closed_ = false;
  std::optional<std::uint32_t> stuck_;
};

}  // namespace nearfar::sim::persistence
