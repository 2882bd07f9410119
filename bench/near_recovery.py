"""How much of a near memory a probe gives back: random organisations, probed blind.

    .venv/bin/python bench/near_recovery.py --seeds 1..20

An organisation of each seed is made by `nearfar model random --near`, probed, and what was found
from the saved observations alone is printed beside the truth. Right is: exactly the value. Of a
near memory with fewer lines than a device's buffer may have entries it is that nothing is claimed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from nearfar.inference.near import FEWEST_LINES
from nearfar.model import Model, load
from nearfar.model.random.near import random_near_model
from nearfar.probing import memory_mode
from nearfar.probing.findings import findings_of
from nearfar.results import ProbeResult, files

NAMES = ("capacity", "line", "ways", "prefetch", "write")


def truth(model: Model) -> dict[str, object]:
    """What a probe should find."""
    found: dict[str, object] = {name: model[f"near.{name}"] for name in NAMES}
    found["prefetch"] = "yes" if model["near.prefetch"] == "next_line" else "no"
    capacity, line = model["near.capacity"], model["near.line"]
    assert isinstance(capacity, int)
    assert isinstance(line, int)
    if capacity // line < FEWEST_LINES[str(model["near.write"])]:
        return dict.fromkeys(NAMES)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="1..20", help="FIRST..LAST")
    first, _, last = parser.parse_args().seeds.partition("..")
    wrong = 0
    for seed in range(int(first), int(last or first) + 1):
        with tempfile.TemporaryDirectory() as folder:
            model = _model(seed, Path(folder))
            started = time.monotonic()
            observations, _ = memory_mode.observe(model, quick=True)
            took = time.monotonic() - started
            file = Path(folder) / "probe.json"
            files.save(ProbeResult(observations=observations, findings=()), file)
            saved = files.load(file)
            assert isinstance(saved, ProbeResult)
            found = {one.name: one.value for one in findings_of(saved.observations)}
        others = ", ".join(
            str(model[f"near.{name}"]) for name in ("policy", "tags", "dirty", "channels")
        )
        print(f"seed {seed} ({others}; far channels {model['channels']}), {took:.1f} s")
        for name, value in truth(model).items():
            right = found.get(f"near.{name}") == value
            wrong += not right
            print(f"  {'right' if right else 'WRONG'}  {name}: {value}, found", end=" ")
            print(found.get(f"near.{name}"), flush=True)
    print(f"{wrong} wrong")
    return min(wrong, 1)


def _model(seed: int, folder: Path) -> Model:
    file = folder / "near.toml"
    file.write_text(random_near_model(seed), encoding="utf-8")
    return load(file)


if __name__ == "__main__":
    sys.exit(main())
