"""How much of a model a probe gives back: random models, probed blind, right and wrong counted.

    .venv/bin/python bench/recovery.py --seeds 1..60 [--quick]

A model of each seed is made by `nearfar model random`, probed, and every finding compared with
the model's own parameter. Right is: exactly the value; for the migration's period, an interval
that holds the truth and is at most 15 % wide. "Not identifiable" is right where the reason is
one of the published cases that no probe can tell and the model is such a case; else it is
missing. Wrong is what was claimed and is not so.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from nearfar.errors import NearfarError
from nearfar.inference import STUDIES
from nearfar.inference.cases import CASES
from nearfar.model import Model, load_target
from nearfar.probing.probe import probe
from nearfar.results import Finding, ProbeResult

WIDEST = 0.15

RIGHT, PUBLISHED, MISSING, WRONG = "right", "published case", "missing", "wrong"


@dataclass(frozen=True)
class Verdict:
    """One parameter of one model."""

    parameter: str  # without the level's number
    verdict: str
    truth: object
    finding: Finding | None
    covered: bool  # the interval holds the truth

    def line(self) -> str:
        said = "nothing" if self.finding is None else self.finding.value
        reason = "" if self.finding is None else f" ({self.finding.reason})"
        return f"{self.verdict} {self.parameter}: is {self.truth}, found {said}{reason}"


def truth(model: Model) -> dict[str, object]:
    """What a probe should find; None where the model is one of the published cases."""
    levels = int(model["nvdimm.levels"])
    modules, moves = int(model["channels"]), int(model["nvdimm.wear.writes"])
    waits = int(model["nvdimm.media.access"]) > 64
    found: dict[str, object] = {
        "levels": levels,
        "modules": modules,
        "interleave": model["imc.interleave"] if modules > 1 else None,
        "wpq.lines": model["imc.wpq.lines"],
        "lsq.lines": model["nvdimm.lsq.lines"],
        "fence.drains_lsq": _yes(model["nvdimm.lsq.drain_on_fence"]) if waits else None,
        "migration": _yes(moves),
        "migration.period": moves or None,
        "migration.block": model["nvdimm.wear.block"] if moves else None,
    }
    for number in range(1, levels + 1):
        entry, entries, ways, policy = (
            model[f"nvdimm.buffer.{number}.{key}"] for key in ("entry", "entries", "ways", "policy")
        )
        found |= {
            f"buffer.{number}.capacity": int(entry) * int(entries),
            f"buffer.{number}.entry": entry,
            f"buffer.{number}.ways": ways,
            f"buffer.{number}.policy": policy if int(ways) > 1 else None,
        }
    return found


def _yes(value: object) -> str:
    return "yes" if value else "no"


def judge(model: Model, result: ProbeResult) -> list[Verdict]:
    """Every parameter of the model against what was found."""
    found = {finding.name: finding for finding in result.findings}
    return [_judge(name, value, found.get(name)) for name, value in truth(model).items()]


def _judge(name: str, value: object, finding: Finding | None) -> Verdict:
    parts = name.split(".")
    parameter = ".".join([parts[0], *(part for part in parts[1:] if not part.isdigit())])
    if finding is None or finding.status != "identified":
        published = value is None and finding is not None and finding.reason in CASES
        return Verdict(parameter, PUBLISHED if published else MISSING, value, finding, published)
    interval = finding.interval
    covered = interval is None or (
        isinstance(value, (int, float)) and interval[0] <= value <= interval[1]
    )
    if name == "migration.period" and isinstance(value, (int, float)) and interval is not None:
        right = covered and interval[1] - interval[0] <= WIDEST * value
    else:
        right = finding.value == value
    return Verdict(parameter, RIGHT if right else WRONG, value, finding, covered)


def made(seed: int, folder: Path) -> Model:
    """The random model of a seed."""
    file = folder / f"random-{seed}.toml"
    command = [sys.executable, "-m", "nearfar", "model", "random"]
    subprocess.run([*command, "--seed", str(seed), "-o", str(file)], check=True)
    return load_target(f"model:{file}")


def report(verdicts: list[Verdict]) -> None:
    """One line a parameter: how many of each verdict, and how many intervals hold the truth."""
    print(
        f"\n{'parameter':<20}{'models':>8}{'right':>8}{'published':>11}{'missing':>9}{'wrong':>7}"
    )
    for parameter in dict.fromkeys(one.parameter for one in verdicts):
        of = [one for one in verdicts if one.parameter == parameter]
        count = Counter(one.verdict for one in of)
        print(
            f"{parameter:<20}{len(of):>8}{count[RIGHT]:>8}{count[PUBLISHED]:>11}"
            f"{count[MISSING]:>9}{count[WRONG]:>7}"
        )
    good = sum(one.verdict in (RIGHT, PUBLISHED) for one in verdicts)
    claimed = [one for one in verdicts if one.verdict in (RIGHT, WRONG)]
    covered = sum(one.covered for one in claimed)
    print(f"\n{good} of {len(verdicts)} right ({good / len(verdicts):.1%}); ", end="")
    print(f"{covered} of {len(claimed)} intervals hold the truth ({covered / len(claimed):.1%})")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="1..60", help="A..B")
    parser.add_argument("--quick", action="store_true", help="what `nearfar probe --quick` does")
    args = parser.parse_args()
    first, _, last = args.seeds.partition("..")
    verdicts: list[Verdict] = []
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(int(first), int(last or first) + 1):
            model = made(seed, Path(folder))
            start = time.perf_counter()
            try:
                of_model = judge(model, probe(model, tuple(STUDIES), quick=args.quick))
            except NearfarError as error:
                print(f"seed {seed}: {error}")
                return 1
            took = time.perf_counter() - start
            slowest = max(slowest, took)
            bad = [one for one in of_model if one.verdict in (MISSING, WRONG)]
            print(f"seed {seed}: {len(of_model) - len(bad)} of {len(of_model)} in {took:.1f} s")
            for one in bad:
                print(f"  {one.line()}")
            sys.stdout.flush()
            verdicts += of_model
    report(verdicts)
    print(f"the slowest probe took {slowest:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
