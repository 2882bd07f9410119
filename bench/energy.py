"""DRAM energy of simple patterns beside what follows from the data sheet by hand.

The patterns and the expressions are those of tests/cpp/energy_test.cpp, which calls the energy
model for neither; this prints its pairs as a table. Fails where one is more than 5 % off.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

TEST = Path(__file__).resolve().parents[1] / "build" / "release" / "tests" / "cpp" / "core_tests"
MOST = 5.0  # per cent
PAIR = re.compile(r"^(?P<pattern>\S.*?) +(?P<hand>\S+) nJ by hand +(?P<counted>\S+) nJ counted")


def main() -> int:
    ran = subprocess.run(
        [TEST, "--gtest_filter=DramEnergy.*"], capture_output=True, text=True, check=False
    )
    pairs = [found for line in ran.stdout.splitlines() if (found := PAIR.match(line))]
    if not pairs:
        print(f"energy: {TEST} printed no pairs\n{ran.stdout}{ran.stderr}", file=sys.stderr)
        return 1
    print(f"{'DDR4-2666, 8 Gbit x8':<44} {'by hand, nJ':>14} {'counted, nJ':>14} {'off, %':>8}")
    worst = 0.0
    for pair in pairs:
        hand, counted = float(pair["hand"]), float(pair["counted"])
        off = 100 * (counted / hand - 1)
        worst = max(worst, abs(off))
        print(f"{pair['pattern']:<44} {hand:>14,.1f} {counted:>14,.1f} {off:>+8.3f}")
    print(f"{len(pairs)} patterns, worst {worst:.3f} %, at most {MOST:g} % allowed")
    return 0 if worst <= MOST and ran.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
