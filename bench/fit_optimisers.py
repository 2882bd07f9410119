"""How many simulations a fit takes by least squares, as `fit` does it, and by CMA-ES.

    .venv/bin/pip install cma==4.5.0
    .venv/bin/python bench/fit_optimisers.py --seeds 71,203 [--times 3]

A random DIMM of each seed is probed (`--quick`). Both then look for the times of a DIMM of that
structure, from base nvdimm, and make the same sum small: squared residuals, and how far each time
is from the base's. CMA-ES moves what least squares moves, and may make so many `--times` as many
simulations.
Printed is after how many simulations each first comes within some error, as root mean square of
ln(simulated / measured) over all points of the best place so far.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from nearfar.fitting.given import read
from nearfar.fitting.misfit import Logs, Misfit, Vector
from nearfar.fitting.search import Search, misfit_of
from nearfar.fitting.simulations import BudgetSpentError, Simulations
from nearfar.fitting.solve import Solver
from nearfar.model import load
from nearfar.model.random.dimm import random_model
from nearfar.probing.probe import probe
from nearfar.results import ProbeResult

BASE = "nvdimm"
ERRORS = (0.10, 0.05, 0.03, 0.02, 0.01, 0.005)
FIRST_STEP = 0.3  # of ln(value): CMA-ES's deviation at first
LOOK = 0.5  # of ln(value), as least squares looks


@dataclass
class Traced(Misfit):
    """Notes, of every place that all points were simulated at, how many simulations there had
    been, the sum that is made small, and the error."""

    trace: list[tuple[int, float, float]] = field(default_factory=list)

    def simulated(self, asked: Sequence[Logs]) -> list[Vector]:
        found = super().simulated(asked)
        for logs, one in zip(asked, found, strict=True):
            error = float(np.sqrt(np.mean((one - self._measured()) ** 2)))
            self.trace.append((self.simulations.made, self.cost(logs, one), error))
        return found

    def cost(self, logs: Logs, simulated: Vector) -> float:
        off = self.residuals(simulated)
        before = sum((log / self.parameters[key].spread) ** 2 for key, log in logs.items())
        return float(off @ off) + before

    def best_so_far(self) -> Iterator[tuple[int, float]]:
        """The simulations and the error of each place better than all before."""
        least = float("inf")
        for made, cost, error in self.trace:
            if cost < least:
                least = cost
                yield made, error


def misfit_of_probe(probed: ProbeResult, budget: int) -> Traced:
    """A probe of a device against models of base `nvdimm` with its structure."""
    given = read([probed], load(BASE))
    search = Search(given, load(BASE), ())
    shape = search.shape(())
    simulations = Simulations(shape.model, budget, processes=1)
    whole = misfit_of(simulations, given.series, shape.model, search.fixed(shape))
    return Traced(simulations, whole.points, whole.noise, whole.parameters, whole.alike)


def by_least_squares(misfit: Traced) -> None:
    Solver(misfit).solve()


def by_cma(misfit: Traced, seed: int) -> None:
    import cma

    start = dict.fromkeys(misfit.parameters, 0.0)
    misfit.look(start, LOOK)
    seen = [one for one in misfit.parameters.values() if misfit.seen(one.key)]
    low, high = (list(ends) for ends in zip(*(one.bounds() for one in seen), strict=True))
    options = {"bounds": [low, high], "seed": seed, "verbose": -9}
    strategy = cma.CMAEvolutionStrategy([0.0] * len(seen), FIRST_STEP, options)
    while not strategy.stop():
        asked = strategy.ask()
        places = [dict(zip((one.key for one in seen), x, strict=True)) for x in asked]
        try:
            found = misfit.simulated(places)
        except BudgetSpentError:
            return
        strategy.tell(asked, [misfit.cost(*pair) for pair in zip(places, found, strict=True)])


def row(name: str, misfit: Traced) -> str:
    """After how many simulations each error was reached first."""
    path = list(misfit.best_so_far())
    cells = []
    for error in ERRORS:
        reached = [made for made, off in path if off <= error]
        cells.append(f"{reached[0]:>8}" if reached else f"{'-':>8}")
    made, error = misfit.simulations.made, path[-1][1]
    return f"  {name:14}{''.join(cells)}   {error:.2%} after {made}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="71,203")
    parser.add_argument("--probers", default="buffers,queues,migration")
    parser.add_argument("--times", type=float, default=3, help="simulations for CMA-ES")
    args = parser.parse_args()
    with TemporaryDirectory() as folder:
        for seed in map(int, args.seeds.split(",")):
            file = Path(folder) / f"device-{seed}.toml"
            file.write_text(random_model(seed), encoding="utf-8")
            probed = probe(load(file), args.probers.split(","), quick=True)
            ours = misfit_of_probe(probed, 10**9)
            by_least_squares(ours)
            print(f"seed {seed}: {len(ours.points)} points, {len(ours.parameters)} parameters")
            print("  within        " + "".join(f"{error:>8.1%}" for error in ERRORS) + "   at last")
            print(row("least squares", ours))
            sys.stdout.flush()
            other = misfit_of_probe(probed, round(args.times * ours.simulations.made))
            by_cma(other, seed)
            print(row("CMA-ES", other))
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
