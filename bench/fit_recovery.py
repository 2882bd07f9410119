"""How well fitted models predict: random DIMMs, probed, fitted, compared on unseen patterns.

    .venv/bin/python bench/fit_recovery.py --seeds 101..140 [--store recovery.jsonl]

A model of each seed is made by `nearfar model random`, probed and fitted to on base nvdimm. Then
both run patterns that no probe has: other block sizes, mixes, numbers of threads. Printed are, of
every seed and of all, the mean and the worst of |simulated / true - 1|, and how many 90 %
intervals of fitted times, and how many of sizes, hold the truth.

A store keeps one line a seed. The same command goes on behind the seeds that it has, and with
`--show` only prints what it has.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from nearfar import Chase, Stream, measure
from nearfar.errors import NearfarError
from nearfar.fitting.fit import Options, fit
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
FAR = 0.10  # no series should be further off


@dataclass(frozen=True)
class Truth:
    """A fitted key, its interval and the device's value, in base units."""

    key: str
    stage: str
    low: float
    value: float
    high: float

    @property
    def holds(self) -> bool:
        return self.low <= self.value <= self.high


@dataclass(frozen=True)
class Seed:
    """What came out for one random DIMM; `error` where nothing did."""

    seed: int
    probers: str
    series: dict[str, float] = field(default_factory=dict)  # name to how far off, in the mean
    truths: Sequence[Truth] = ()
    simulations: int = 0
    seconds: int = 0
    error: str = ""

    def __str__(self) -> str:
        if self.error:
            return f"seed {self.seed}: {self.error}"
        shown = ", ".join(f"{name} {value:.1%}" for name, value in self.series.items())
        missed = ", ".join(one.key for one in self.truths if not one.holds)
        return (
            f"seed {self.seed}: {shown}; intervals without the truth: {missed or 'none'}; "
            f"{self.simulations} simulations, {self.seconds} s"
        )


def made(text: str, folder: Path, name: str) -> Model:
    """The model of a file's text."""
    file = folder / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    return load(file)


def unseen(device: Model, model: Model) -> dict[str, float]:
    """Of each series how far its points are off in the mean, relative to the device's."""
    off = {}
    for name, pattern in UNSEEN.items():
        pairs = zip(measure(device, pattern).points, measure(model, pattern).points, strict=True)
        off[name] = fmean(abs(said.ns_per_line / true.ns_per_line - 1) for true, said in pairs)
    return off


def truths(device: Model, result: FitResult) -> Iterator[Truth]:
    """The fitted keys with an interval."""
    for one in result.parameters:
        if one.interval is not None and one.key in device.values:
            low, high = (float(KEYS[one.key].read_text(text)) for text in one.interval)
            yield Truth(one.key, one.stage, low, float(device[one.key]), high)


def recover(seed: int, probers: str, folder: Path) -> Seed:
    """Probe one random DIMM, fit a model to it and compare the two."""
    start = time.perf_counter()
    device = made(random_model(seed), folder, f"device-{seed}")
    try:
        fitted = fit(probe(device, probers.split(",")), options=Options(processes=1))
    except NearfarError as error:
        return Seed(seed, probers, error=str(error))
    return Seed(
        seed,
        probers,
        unseen(device, made(fitted.text, folder, f"fitted-{seed}")),
        tuple(truths(device, fitted.result)),
        fitted.result.simulations,
        round(time.perf_counter() - start),
    )


def stored(store: Path | None, probers: str) -> list[Seed]:
    """The seeds of a store that were probed so."""
    if store is None or not store.exists():
        return []
    found = []
    for line in store.read_text(encoding="utf-8").splitlines():
        values = json.loads(line)
        values["truths"] = tuple(Truth(**one) for one in values["truths"])
        found.append(Seed(**values))
    return [one for one in found if one.probers == probers]


def summary(seeds: Sequence[Seed]) -> Iterator[str]:
    """What all seeds together say."""
    good = [one for one in seeds if not one.error]
    if not good:
        return
    yield f"{len(good)} DIMMs, {len(seeds) - len(good)} fits failed"
    for name in UNSEEN:
        off = [one.series[name] for one in good]
        yield f"  {name:12} mean {fmean(off):.2%} off, worst {max(off):.1%}"
    series = [(off, one.seed, name) for one in good for name, off in one.series.items()]
    worst, seed, name = max(series)
    far = sum(off > FAR for off, *_ in series)
    yield (
        f"{len(series)} series: mean {fmean(off for off, *_ in series):.2%} off, worst {worst:.1%} "
        f"({name} of seed {seed}), {far} beyond {FAR:.0%}"
    )
    for stage in ("times", "structure"):
        own = [truth for one in good for truth in one.truths if truth.stage == stage]
        missed: dict[str, int] = {}
        for truth in own:
            if not truth.holds:
                missed[truth.key] = missed.get(truth.key, 0) + 1
        keys = ", ".join(f"{key} {count}" for key, count in sorted(missed.items()))
        share = sum(truth.holds for truth in own) / max(1, len(own))
        yield f"{stage}: {share:.1%} of {len(own)} intervals hold the truth; not: {keys or 'none'}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="101..103", help="A..B")
    parser.add_argument("--probers", default="buffers,queues,migration,bandwidth")
    parser.add_argument("--store", type=Path, help="a file that keeps one line a seed")
    parser.add_argument("--show", action="store_true", help="only print what the store has")
    args = parser.parse_args()
    first, _, last = args.seeds.partition("..")
    seeds = stored(args.store, args.probers)
    for one in seeds:
        print(one)
    known = {one.seed for one in seeds}
    with TemporaryDirectory() as folder:
        for seed in range(int(first), int(last or first) + 1):
            if args.show or seed in known:
                continue
            seeds.append(recover(seed, args.probers, Path(folder)))
            print(seeds[-1])
            sys.stdout.flush()
            if args.store is not None:
                with args.store.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(seeds[-1])) + "\n")
    for line in summary(seeds):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
