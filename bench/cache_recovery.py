"""How much of a model's processor a probe gives back: random caches and TLBs, probed blind.

    .venv/bin/python bench/cache_recovery.py --seeds 1..40 [--quick]

A processor of each seed is made by `nearfar model random --cpu`, probed by `caches` and `tlb`,
and every finding compared with the model's own parameter. Right is a value, or an interval that
holds it; how wide the intervals are is printed. "Not identifiable" is missing. Wrong is what was
claimed and is not so.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from nearfar.model import Model, load_target
from nearfar.model.random.cpu import random_cpu_model
from nearfar.probing.caches import observe
from nearfar.probing.findings import findings_of
from nearfar.results.findings import IDENTIFIED, Finding

RIGHT, MISSING, WRONG = "right", "missing", "WRONG"
_CLOSE = 0.02  # of a time: so near is right


def truth(model: Model) -> dict[str, tuple[float | str, float | str]]:
    """What a probe should find, as least and greatest value."""
    policy = str(model["cpu.l1.policy"])
    second = _number(model, "cpu.tlb.l2.latency")
    size, ways = _number(model, "cpu.l1.size"), _number(model, "cpu.l1.ways")
    # A walk reads one or two lines of tables, wherever in the caches they are.
    nearest, farthest = _number(model, "cpu.l1.latency"), 2 * _number(model, "cpu.l3.latency")
    exact: dict[str, float | str] = {
        "cache.1.entry": 64,
        "cache.1.capacity": size,
        "cache.1.ways": ways,
        "cache.1.sets": size // 64 // ways,
        "cache.1.policy": policy,
        "cache.2.capacity": _number(model, "cpu.l2.size"),
        "cache.2.ways": _number(model, "cpu.l2.ways"),
        "cache.3.capacity": _number(model, "cpu.l3.size"),
        "tlb.1.entries": _number(model, "cpu.tlb.l1.entries"),
        "tlb.2.entries": _number(model, "cpu.tlb.l2.entries"),
    }
    found = {name: (value, value) for name, value in exact.items()}
    for level in (1, 2, 3):
        latency = _number(model, f"cpu.l{level}.latency") / 1000
        found[f"cache.{level}.latency"] = (latency * (1 - _CLOSE), latency * (1 + _CLOSE))
    found["tlb.1.miss"] = (second / 1000 * (1 - _CLOSE), second / 1000 * (1 + _CLOSE))
    found["tlb.walk"] = ((second + nearest) / 1000, (second + farthest) / 1000)
    return found


def _number(model: Model, key: str) -> int:
    value = model[key]
    assert isinstance(value, int)
    return value


def judge(finding: Finding | None, low: float | str, high: float | str) -> str:
    """Whether a finding holds what is so."""
    if finding is None or finding.status != IDENTIFIED or finding.value is None:
        return MISSING
    if isinstance(low, str) or isinstance(high, str) or isinstance(finding.value, str):
        return RIGHT if finding.value == low else WRONG
    bottom, top = finding.interval or (finding.value, finding.value)
    return RIGHT if bottom <= high and top >= low else WRONG


def seeds(text: str) -> range:
    """ "1..40", or one."""
    first, _, last = text.partition("..")
    return range(int(first), int(last or first) + 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=seeds, default=range(1, 41), metavar="FIRST..LAST")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    widths: dict[str, list[float]] = {}
    start = time.monotonic()
    for seed in given.seeds:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "cpu.toml"
            file.write_text(random_cpu_model(seed), encoding="utf-8")
            model = load_target(f"model:{file}")
        observations, _ = observe(model, quick=given.quick)
        found = {finding.name: finding for finding in findings_of(observations)}
        for name, (low, high) in truth(model).items():
            finding = found.get(name)
            verdict = judge(finding, low, high)
            counts.setdefault(name, Counter())[verdict] += 1
            if verdict == RIGHT and finding is not None and finding.interval:
                widths.setdefault(name, []).append(finding.interval[1] / finding.interval[0] - 1)
            if verdict != RIGHT:
                said = "nothing" if finding is None else f"{finding.value} ({finding.reason})"
                print(f"seed {seed}: {verdict} {name}: is {low}, found {said}", flush=True)
    for name, count in counts.items():
        width = sorted(widths.get(name, [0.0]))[len(widths.get(name, [0.0])) // 2]
        tally = ", ".join(f"{count[word]} {word}" for word in (RIGHT, MISSING, WRONG))
        print(f"{name:18} {tally}; median width {width:.1%}")
    print(f"{time.monotonic() - start:.0f} s")
    sys.exit(any(count[WRONG] for count in counts.values()))


if __name__ == "__main__":
    main()
