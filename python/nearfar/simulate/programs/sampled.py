"""A systematic sample of a program: which windows are measured, and what they say of all of it.

After Wunderlich and others, "SMARTS: Accelerating Microarchitecture Simulation via Rigorous
Statistical Sampling", ISCA 2003, with one difference: a window's place in its period is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from nearfar.errors import InputError
from nearfar.measuring.quantity import at_least
from nearfar.results.run import RunResult, Sampled, SampledWindow

AUTO = "auto"
WINDOW = 10_000  # instructions
WARM = 50_000

# With "auto" the period is at first so many times what is simulated in it, and doubles after so
# many windows: a long program is not measured more often than its interval needs.
_AUTO_FIRST = 16
_AUTO_WINDOWS = 128
_FEWEST_CHECKS = 3  # windows
_FEWEST = 8  # windows of one period that tell how far windows differ
_KEY = "sample."


@dataclass(frozen=True)
class Plan:
    """One of `every` windows is measured, of `run` instructions each and behind `warm`; 0: auto."""

    every: int
    warm: int
    run: int

    def said(self) -> dict[str, int]:
        """As the result has it."""
        return {"every": self.every, "warm": self.warm, "run": self.run}

    def options(self, seed: int) -> dict[str, int]:
        """As the plug-in reads it."""
        period = self.every * self.run or _AUTO_FIRST * (self.warm + self.run)
        return {
            f"{_KEY}window": self.run,
            f"{_KEY}warm": self.warm,
            f"{_KEY}period": period,
            f"{_KEY}doubled_after": 0 if self.every else _AUTO_WINDOWS,
            f"{_KEY}seed": seed,
        }


def plan_of(sample: int | str, warm: int | None, run: int | None) -> Plan:
    """`sample` is "auto" or N for one window of N. Raises InputError."""
    if isinstance(sample, str) and sample != AUTO:
        raise InputError(f"sample: found {sample}, expected auto or a number such as 100")
    plan = Plan(
        every=0 if isinstance(sample, str) else sample,
        warm=WARM if warm is None else warm,
        run=WINDOW if run is None else run,
    )
    at_least("sample", plan.every, 0 if sample == AUTO else 1)
    at_least("warm", plan.warm, 0)
    at_least("run", plan.run, 1)
    return plan


def with_sample(
    ran: RunResult, plan: Plan, parts: Sequence[Mapping[str, str]], period_ps: int
) -> RunResult:
    """The result with what the sample says; `parts` are what its processes left, in its order."""
    processes = [
        replace(process, sampled=estimate(int(part["passed"]), windows_of(part), period_ps))
        for process, part in zip(ran.processes, parts, strict=True)
    ]
    short = [one for one in processes if one.sampled is None or one.sampled.cpi is None]
    notes = list(ran.notes)
    if short:
        longest = max(one.sampled.instructions for one in short if one.sampled is not None)
        notes.append(
            f"{len(short)} of {len(processes)} programs ended before the second window and are not "
            f"in the sample's estimate; the longest of them has {longest:,} instructions"
        )
    return replace(
        ran,
        processes=processes,
        notes=notes,
        sample=plan.said(),
        sampled=together((one.sampled for one in processes), period_ps),
    )


def windows_of(part: Mapping[str, str]) -> list[SampledWindow]:
    """What a process's result has of its windows, in their order."""
    found: list[SampledWindow] = []
    while row := part.get(f"{_KEY}{len(found)}"):
        found.append(SampledWindow(*map(int, row.split())))
    return found


def estimate(instructions: int, windows: Sequence[SampledWindow], period_ps: int) -> Sampled:
    """Of one program.

    Windows of one period length are a stratum, and in it a sample of the instructions that their
    periods cover. Its variance is taken as if the places were independent, which is too much
    rather than too little where neighbours are alike.

    What a longer warm-up changes comes from the windows that were checked: a difference estimator
    for sampling in two phases (Cochran, "Sampling Techniques", chapter 12).
    """
    if len(windows) < 2:
        return Sampled(instructions, windows)
    strata = _strata(windows)
    covered = sum(one.covered for one in strata)
    mean = sum(one.covered * one.mean for one in strata) / covered
    variance = sum((one.covered / covered) ** 2 * one.variance / one.count for one in strata)
    half = _student(len(windows) - len(strata)) * math.sqrt(variance)
    found = _estimated(instructions, mean / period_ps, half / period_ps, period_ps)
    return replace(_corrected(found, windows, period_ps), windows=windows)


def _corrected(found: Sampled, windows: Sequence[SampledWindow], period_ps: int) -> Sampled:
    """The estimate with what the checks say, if there are enough of them."""
    checked = [one for one in windows if one.checked_instructions]
    if len(checked) < _FEWEST_CHECKS or found.cpi is None:
        return found
    changes = [
        (one.checked_busy_ps / one.checked_instructions - _pace(one)) / period_ps for one in checked
    ]
    weight = sum(one.period for one in checked)
    change = sum(one.period * d for one, d in zip(checked, changes, strict=True)) / weight
    spread = sum(
        (one.period / weight * (d - change)) ** 2 for one, d in zip(checked, changes, strict=True)
    )
    error = _student(len(checked) - 1) * math.sqrt(spread * len(checked) / (len(checked) - 1))
    half = math.hypot(_half(found), error)
    corrected = _estimated(found.instructions, max(found.cpi + change, 0.0), half, period_ps)
    return replace(corrected, windows_cpi=found.cpi, checked=len(checked), check_error=error)


def together(parts: Iterable[Sampled | None], period_ps: int) -> Sampled | None:
    """Of all programs; of those without an estimate nothing is in it."""
    known = [one for one in parts if one is not None and one.cpi is not None]
    if not known:
        return None
    instructions = sum(one.instructions for one in known)

    def mean(values: Iterable[float | None]) -> float:
        return (
            sum(one.instructions * (v or 0.0) for one, v in zip(known, values, strict=True))
            / instructions
        )

    def error(values: Iterable[float | None]) -> float:
        parts = [one.instructions * (v or 0.0) for one, v in zip(known, values, strict=True)]
        return math.hypot(*parts) / instructions

    found = _estimated(
        instructions, mean(one.cpi for one in known), error(map(_half, known)), period_ps
    )
    return replace(
        found,
        windows_cpi=mean(one.windows_cpi or one.cpi for one in known),
        checked=sum(one.checked for one in known),
        check_error=error(one.check_error for one in known),
    )


@dataclass(frozen=True)
class _Stratum:
    """`mean` and `variance` are of windows' ps an instruction, `covered` in instructions."""

    count: int
    covered: int
    mean: float
    variance: float


def _strata(windows: Sequence[SampledWindow]) -> list[_Stratum]:
    """Windows by the length of their periods; too few of the longest count with those before."""
    groups: list[list[SampledWindow]] = []
    for window in windows:
        if not groups or groups[-1][0].period != window.period:
            groups.append([])
        groups[-1].append(window)
    variances: list[float] = []
    for group in groups:
        known = len(group) >= _FEWEST or not variances
        variances.append(_variance(group) if known else variances[-1])
    return [
        _Stratum(len(group), sum(one.period for one in group), _mean(group), variance)
        for group, variance in zip(groups, variances, strict=True)
    ]


def _pace(window: SampledWindow) -> float:
    return window.busy_ps / window.instructions


def _paces(group: Sequence[SampledWindow]) -> list[float]:
    return [_pace(one) for one in group]


def _mean(group: Sequence[SampledWindow]) -> float:
    return sum(_paces(group)) / len(group)


def _variance(group: Sequence[SampledWindow]) -> float:
    mean = _mean(group)
    return sum((pace - mean) ** 2 for pace in _paces(group)) / max(len(group) - 1, 1)


def _estimated(instructions: int, cpi: float, half: float, period_ps: int) -> Sampled:
    interval = (max(cpi - half, 0.0), cpi + half)
    ns = instructions * period_ps / 1000
    return Sampled(
        instructions=instructions,
        windows=(),
        cpi=cpi,
        cpi_interval=interval,
        busy_ns=cpi * ns,
        busy_interval_ns=[end * ns for end in interval],
    )


def _half(one: Sampled) -> float:
    return 0.0 if one.cpi_interval is None else one.cpi_interval[1] - (one.cpi or 0.0)


def _student(freedom: int) -> float:
    """The 97.5 % quantile of Student's t (Abramowitz and Stegun, 26.7.5), to 0.5 % from 3 on."""
    z = 1.959964
    if freedom < 3:
        return (12.706, 12.706, 4.303)[max(freedom, 0)]
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
