#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace nearfar::policy {

/// Statistics of when pages are used again, learnt from all of them together.
///
/// Pages are told apart by *kind*, the mean interval between their uses in half octaves and how
/// many uses that mean is over (one kind more is of pages used once only), and by *age*, the time
/// since their last use, in half octaves too. The policy that keeps the table brings for each page
/// a plain guess of its *rate* of use. A cell (kind, age) adds up the uses that happened there, the
/// page-time spent there, and the uses that the guesses promised for that time. The hazard of a
/// cell is the guess times uses over promises (with one use and one promise before any were seen,
/// so that an unknown cell is as guessed).
///
/// From a row of hazards follows what a page of that age is worth in near memory: the most uses in
/// a time that it can give, kept for as long as that is best. Gittins ("Bandit processes and
/// dynamic allocation indices", JRSS B 41, 1979) has shown that for the choice among several with
/// such futures this ratio is the one to go by. Where the hazard falls with age it is the hazard of
/// the moment: a page that may belong to a phase that has ended is worth what those of its age
/// still bring, however long the dead among them would wait. In a loop it is the inverse of the
/// time to come, small for pages just used and large for those about to be. `worth` is that ratio
/// over the guessed rate, 1 where use is at random.
///
/// Old sums fade, by a fiftieth at each `refresh`. Only additions, multiplications and
/// divisions: the same on every machine.
class ReuseTable {
 public:
  static constexpr std::size_t intervals = 13;
  static constexpr std::size_t certainties = 4;
  static constexpr std::size_t used_once = intervals * certainties;
  static constexpr std::size_t kinds = used_once + 1;
  static constexpr std::size_t ages = 24;

  ReuseTable();

  /// Of a page with so many intervals seen; their mean is told apart from 16 on.
  [[nodiscard]] static std::size_t kind_of(float mean_interval, unsigned intervals_seen);
  /// Told apart from 4 on.
  [[nodiscard]] static std::size_t age_of(float time);

  /// A page of that kind was used at that age.
  void used(std::size_t kind, std::size_t age) { cells_[kind][age].uses += 1; }
  /// `time` has passed for a page of that kind, age and guessed rate.
  void passed(std::size_t kind, std::size_t age, float time, float rate) {
    cells_[kind][age].time += time;
    cells_[kind][age].promised += time * rate;
  }

  /// Computes the worth of pages of one kind again, and lets the sums that it comes from fade.
  void refresh(std::size_t kind);

  /// The hazard of a cell over the guess.
  [[nodiscard]] float trust(std::size_t kind, std::size_t age) const {
    const Cell& cell = cells_[kind][age];
    return (cell.uses + 1) / (cell.promised + 1);
  }
  /// Most uses in a time over what the guessed rate says.
  [[nodiscard]] float worth(std::size_t kind, std::size_t age) const { return worth_[kind][age]; }

 private:
  struct Cell {
    float uses = 0;
    float time = 0;
    float promised = 0;
  };

  std::array<std::array<Cell, ages>, kinds> cells_{};
  std::array<std::array<float, ages>, kinds> worth_{};
};

}  // namespace nearfar::policy
