"""Random reads through `nearfar.Machine` by arrays: library_arrays.py MODEL OUTSTANDING REQUESTS.

MODEL is what `nearfar model export` wrote; only its name is used here. Prints what the other
drivers print: requests, elapsed ps, reads, the sum of their latencies in ps.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from nearfar import Machine


def main(exported: Path, outstanding: int, requests: int) -> None:
    """Play the stream, and print what it saw."""
    name = exported.read_text().split("\n", 1)[0].rsplit(" ", 1)[-1]
    machine = Machine(f"model:{name}")
    lines = np.uint64(machine.capacity_bytes // 64)
    # A permutation of the lines that looks random and costs little to make.
    numbers = np.arange(requests, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    accepted, done = machine.play((numbers >> np.uint64(20)) % lines * np.uint64(64),
                                  outstanding=outstanding)  # fmt: skip
    print(requests, int(done.max()), requests, int((done - accepted).sum()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
