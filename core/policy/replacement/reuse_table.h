#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace nearfar::policy {

/// What has been learnt of when pages are used again, from all of them together.
///
/// Pages are told apart by *kind*, the mean interval between their uses in half octaves (one kind
/// more is of pages used once only), and by *age*, the time since their last use, in half octaves
/// too. Whoever keeps the table brings for each page a plain guess of its *rate* of use. A cell
/// (kind, age) adds up the uses that happened there, the page-time spent there, and the uses that
/// the guesses promised for that time.
///
/// From a row of cells follows how long a page of that age waits for its next use: the hazard of a
/// cell is the guess times uses over promises (with one use and one promise before any were seen,
/// so that an unknown cell is as guessed), and the wait at an age is the mean over the cells ahead.
/// `factor` is that wait over the guessed one. Where use is at random it is 1 throughout; in a
/// loop it is large for pages just used and small for those about to be; of a phase that has
/// ended it grows with age, page by page forgotten as others have been.
///
/// Old sums fade, by a twenty-fifth at each `refresh`. Only additions, multiplications and
/// divisions: the same on every machine.
class ReuseTable {
 public:
  static constexpr std::size_t kinds = 14;
  static constexpr std::size_t used_once = kinds - 1;
  static constexpr std::size_t ages = 24;

  explicit ReuseTable(std::uint32_t capacity) { resize(capacity); }

  /// Ages and intervals are told apart from a 32nd and an eighth of so much time on.
  void resize(std::uint32_t capacity);

  [[nodiscard]] std::size_t kind_of(float mean_interval) const;
  [[nodiscard]] std::size_t age_of(std::uint32_t time) const;

  /// A page of that kind was used at that age.
  void used(std::size_t kind, std::size_t age) { cells_[kind][age].uses += 1; }
  /// `time` has passed for a page of that kind, age and guessed rate.
  void passed(std::size_t kind, std::size_t age, float time, float rate) {
    cells_[kind][age].time += time;
    cells_[kind][age].promised += time * rate;
  }

  /// Works out the factors anew, and lets what they come from fade.
  void refresh();

  /// Expected time to the next use over what the guessed rate says.
  [[nodiscard]] float factor(std::size_t kind, std::size_t age) const {
    return factors_[kind][age];
  }

 private:
  struct Cell {
    float uses = 0;
    float time = 0;
    float promised = 0;
  };

  [[nodiscard]] float first_time(std::size_t age) const;

  float unit_ = 1;  ///< where the second age begins
  std::array<std::array<Cell, ages>, kinds> cells_{};
  std::array<std::array<float, ages>, kinds> factors_{};
};

}  // namespace nearfar::policy
