"""Latency under load of a CXL device, which must never fall as load rises and obey Little's law.

Reads of random lines, so many at a time, sent by no core. The mean latency is counted on the link,
the throughput by the clock of the run; their product is what is in flight. Fails where a latency is
more than 0.1 % below the one before it (refreshes fall differently into each run), or where the
product is more than 3 % off.
"""

from __future__ import annotations

import argparse
import sys

import nearfar

OUTSTANDING = (1, 2, 4, 8, 16, 32, 64, 96, 128)
MOST = 0.03
LEVEL = 0.999


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="model:cxl-expander")
    target = parser.parse_args().target
    line = "{:>12} {:>8} {:>11} {:>10}"
    print(line.format("outstanding", "GB/s", "latency ns", "in flight"))
    failed = []
    before = 0.0
    for outstanding in OUTSTANDING:
        pattern = nearfar.Stream(
            op="ntload", agent="none", stride="random", access=64, outstanding=outstanding,
            area="4GiB", lines=20_000,
        )  # fmt: skip
        (point,) = nearfar.measure(target, pattern).points
        latency = point.counters["link.time_ps"] / point.counters["link.reads"] / 1e3
        in_flight = point.gb_per_s / 64 * latency
        print(
            line.format(outstanding, f"{point.gb_per_s:.2f}", f"{latency:.1f}", f"{in_flight:.2f}")
        )
        if latency < LEVEL * before:
            failed.append(f"{outstanding} outstanding: latency falls to {latency:.1f} ns")
        if abs(in_flight / outstanding - 1) > MOST:
            failed.append(f"{outstanding} outstanding: throughput times latency is {in_flight:.2f}")
        before = latency
    for text in failed:
        print(text, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
