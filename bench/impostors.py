"""What is claimed of machines that do not have it: random ones without the part, probed blind.

    .venv/bin/python bench/impostors.py --seeds 1..200 [--parts curves,near,migration]

* curves: latencies over regions of a memory without a cache, behind a TLB, in rows that get slower,
  or with a fence that small regions pay for: no level, no buffer.
* near: a random DIMM without a near memory: nothing of one.
* migration: a random DIMM that never moves a block: no migration, no period, no stall.

Every claim is printed; the last line of a part counts the machines with one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from nearfar.inference.curves.findings import infer_curves
from nearfar.inference.curves.tables import observations
from nearfar.model import Model, load
from nearfar.model.random.dimm import random_model
from nearfar.probing import memory_mode
from nearfar.probing.findings import findings_of
from nearfar.probing.probe import probe
from nearfar.results.findings import IDENTIFIED, Finding

KIB, MIB = 1 << 10, 1 << 20


def curves(seed: int) -> list[Finding]:
    """What a curve without a cache gives, walked again and again and over fresh regions."""
    rng = np.random.default_rng(seed)
    low, high = KIB * 2.0 ** rng.integers(0, 5), MIB * 2.0 ** rng.integers(3, 9)
    region = np.unique(np.round(np.geomspace(low, high, int(rng.integers(5, 140))) / 64) * 64)
    cost = (
        np.zeros(len(region)),
        rng.uniform(5, 50) * np.maximum(0, 1 - 64 * KIB * rng.integers(1, 100) / region),
        rng.uniform(0.5, 3) * np.log2(region / region[0]),
        rng.uniform(0, 20) * 40 * 64 / region,
    )[seed % 4]
    noise = rng.choice([0, 0.002, 0.01, 0.05]) * rng.standard_normal(len(region))
    times = (rng.uniform(60, 130) + cost) * np.exp(noise)
    found: list[Finding] = []
    for op, regions in (("load", "repeat"), ("ntload", "repeat"), ("ntload", "fresh")):
        rows = [
            {
                "region_bytes": f"{size:.0f}",
                "block_bytes": "64",
                "op": op,
                "regions": regions,
                "ns_per_line": f"{ns:.6g}",
            }
            for size, ns in zip(region, times, strict=True)
        ]
        found += infer_curves(observations("curve", list(rows[0]), rows))
    return found


def near(seed: int) -> list[Finding]:
    """What the tests for a near memory make of a DIMM."""
    seen, _ = memory_mode.observe(_dimm(seed), quick=True)
    return findings_of(seen)


def migration(seed: int) -> list[Finding]:
    """What hammering one line shows of a DIMM that never moves a block."""
    return list(
        probe(_dimm(seed).override("nvdimm.wear.writes=0"), ["migration"], quick=True).findings
    )


def _dimm(seed: int) -> Model:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "dimm.toml"
        file.write_text(random_model(seed), encoding="utf-8")
        return load(file)


PARTS: Mapping[str, Callable[[int], list[Finding]]] = {
    "curves": curves,
    "near": near,
    "migration": migration,
}


def claimed(part: str, one: Finding) -> bool:
    """Whether a finding says that there is what there is not."""
    if one.name == "levels":
        return part == "curves" and one.interval is not None and one.interval[0] > 0
    mine = {"curves": "buffer.", "near": "near.", "migration": "migration"}[part]
    return one.status == IDENTIFIED and one.name.startswith(mine) and one.value != "no"


def seeds(text: str) -> range:
    """ "1..200", or one."""
    first, _, last = text.partition("..")
    return range(int(first), int(last or first) + 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=seeds, default=range(1, 201), metavar="FIRST..LAST")
    parser.add_argument("--parts", default="curves,near", metavar="NAME,NAME")
    given = parser.parse_args()
    wrong = 0
    for part in given.parts.split(","):
        started, false = time.monotonic(), 0
        for seed in given.seeds:
            claims = [one for one in PARTS[part](seed) if claimed(part, one)]
            false += bool(claims)
            for one in claims:
                print(f"{part} seed {seed}: {one.name} {one.value} {one.interval}: {one.reason}")
        took = time.monotonic() - started
        print(f"{part}: {false} of {len(given.seeds)} machines, {took:.0f} s", flush=True)
        wrong += false
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
