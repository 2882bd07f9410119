"""How well fitted models predict: random DIMMs, probed, fitted, compared on unseen patterns.

    .venv/bin/python bench/fit_recovery.py --seeds 101..103 [--probers buffers,queues,migration]

A model of each seed is made by `nearfar model random`, probed and fitted to on base nvdimm. Then
both run patterns that no probe has: other block sizes, mixes, numbers of threads. Printed are the
mean and the worst of |simulated / true - 1|, and of the fitted times how many
intervals hold the truth.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from nearfar import Chase, Stream, measure
from nearfar.errors import NearfarError
from nearfar.fitting.fit import fit
from nearfar.measuring import Pattern
from nearfar.model import Model, load
from nearfar.model.random.dimm import random_model
from nearfar.model.schema import KEYS
from nearfar.probing.probe import probe
from nearfar.results import FitResult

UNSEEN: dict[str, Pattern] = {
    "chase-512": Chase(region="16KiB,256KiB,4MiB", block="512B", lines=8192),
    "chase-2048": Chase(region="16KiB,256KiB,4MiB", block="2KiB", lines=8192),
    "stores-1024": Chase(region="16KiB,256KiB", block="1KiB", op="ntstore", lines=8192),
    "mix-60": Stream(op="ntstore", access="128B", reads=60, threads=3, area="64MiB", lines=16384),
    "threads-6": Stream(op="ntload", access="512B", stride="random", threads=6, lines=16384),
}


def made(text: str, folder: Path, name: str) -> Model:
    """The model of a file's text."""
    file = folder / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    return load(file)


def unseen(device: Model, model: Model) -> dict[str, list[float]]:
    """Of each series how far every point is off, relative to the device's."""
    off: dict[str, list[float]] = {}
    for name, pattern in UNSEEN.items():
        pairs = zip(measure(device, pattern).points, measure(model, pattern).points, strict=True)
        off[name] = [abs(said.ns_per_line / true.ns_per_line - 1) for true, said in pairs]
    return off


def held(device: Model, result: FitResult) -> list[tuple[str, bool]]:
    """Each fitted time, and whether its interval holds the device's."""
    found = []
    for one in result.parameters:
        if one.stage == "times" and one.interval is not None and one.key in device.values:
            low, high = (float(KEYS[one.key].read_text(text)) for text in one.interval)
            found.append((one.key, low <= float(device[one.key]) <= high))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="101..103", help="A..B")
    parser.add_argument("--probers", default="buffers,queues,migration,bandwidth")
    args = parser.parse_args()
    first, _, last = args.seeds.partition("..")
    series: list[float] = []
    intervals: list[tuple[str, bool]] = []
    failed = 0
    with TemporaryDirectory() as folder:
        for seed in range(int(first), int(last or first) + 1):
            start = time.perf_counter()
            device = made(random_model(seed), Path(folder), f"device-{seed}")
            try:
                fitted = fit(probe(device, args.probers.split(",")))
            except NearfarError as error:
                failed += 1
                print(f"seed {seed}: {error}")
                continue
            model = made(fitted.text, Path(folder), f"fitted-{seed}")
            off = {name: fmean(each) for name, each in unseen(device, model).items()}
            own = held(device, fitted.result)
            series += off.values()
            intervals += own
            took = time.perf_counter() - start
            shown = ", ".join(f"{name} {value:.1%}" for name, value in off.items())
            missed = [key for key, holds in own if not holds]
            print(f"seed {seed}: {shown}; intervals missed: {missed or 'none'}; {took:.0f} s")
            sys.stdout.flush()
    if series:
        print(f"{len(series)} series: mean {fmean(series):.2%} off, worst {max(series):.1%}")
        good = sum(holds for _, holds in intervals)
        print(f"{good} of {len(intervals)} intervals hold the truth; {failed} fits failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
