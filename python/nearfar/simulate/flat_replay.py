"""A recorded program on two tiers that are both addressed directly: placement policies on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearfar._lists import DETECTORS, PLACEMENT_POLICIES
from nearfar.errors import InputError, check_one_of
from nearfar.measuring.run import Progress
from nearfar.results.flat_replay import FlatPolicy, FlatReplayResult, FlatSize
from nearfar.simulate.tier_replay import PAGE, near_pages
from nearfar.simulate.traces.file import shown, trace_pieces
from nearfar.simulate.traces.formats import readable
from nearfar.simulate.traces.header import header_of
from nearfar.simulate.traces.unpack import exact_end

if TYPE_CHECKING:
    from nearfar._core import PageTouches

# In the time between two decisions: five scans, and sixteen steps of the clock in each of these, as
# policy::Touches has them.
_STEPS = 80

# A detector that samples takes one access in so many, before the time is scaled: a prime, so that
# it keeps no step with loops.
_SAMPLE = 997

_STATIC = "static"


@dataclass(frozen=True)
class _Detection:
    """What a detector costs: for each page that it looks at, and for each page that a fault tells
    it of, or sample that it takes; in ps.
    """

    scan: int
    found: int


# Linux 6.18: a scan of long runs of pages took 4 ns a page (others up to 60). A page that was
# unmapped to see its first touch took 0.5 us out, in runs of 16, and 2.1 us back. A sample of the
# processor: about 1000 of its cycles.
_DETECTIONS: Mapping[str, _Detection] = {
    "dirty": _Detection(4_000, 0),
    "accessed": _Detection(4_000, 0),
    "probe": _Detection(500_000, 2_100_000),
    "sampled": _Detection(3_000, 300_000),
}


@dataclass(frozen=True)
class FlatOptions:
    """How a trace is replayed; times are in ps.

    Each access of the trace stands for `time_scale` of them: a second of the trace for so many
    seconds. The costs of near and far memory are those of a read and of a write of a line: a read
    takes its latency, a write its share of the bandwidth. They and the cost of a pair that changes
    places are measurements (CXL or Optane behind DRAM, and Linux 6.18). `scan_cost` and
    `fault_cost` are the detector's own where they are None.
    """

    policies: Sequence[str] = PLACEMENT_POLICIES  # `static` is always among them
    near: Sequence[str] = ("1%", "5%", "25%")
    interval: int = 5 * 10**12
    pairs: int = 1000
    detector: str = "dirty"
    move_cost: int = 9_000_000
    time_scale: float = 1
    read: tuple[int, int] = (95_000, 374_000)
    write: tuple[int, int] = (2_000, 20_000)
    scan_cost: int | None = None
    fault_cost: int | None = None

    def check(self) -> None:
        """Raise InputError for what cannot be meant."""
        for policy in self.policies:
            check_one_of("--policy", policy, PLACEMENT_POLICIES)
        check_one_of("--detector", self.detector, DETECTORS)
        for size in self.near:
            near_pages(size, 1 << 40)
            if size.strip().endswith("%") and Fraction(size.strip().rstrip("% ")) > 100:
                raise InputError(f"--near: found '{size}', expected at most 100%")
        if self.pairs < 1:
            raise InputError(f"--pairs: found {self.pairs}, expected at least 1")
        if not 0 < self.time_scale < float("inf"):
            raise InputError(f"--time-scale: found {self.time_scale}, expected more than 0")
        if self.step() < 1:
            raise InputError(
                f"--interval: found {self.interval / 1000:g} ns at a time scale of "
                f"{self.time_scale:g}, expected at least {_STEPS} ps of the trace"
            )
        for name, (near, far) in (("--read", self.read), ("--write", self.write)):
            if far < near:
                raise InputError(
                    f"{name}: found {far / 1000:g} ns for far memory and {near / 1000:g} ns for "
                    "near memory, expected far memory to be no faster"
                )

    def step(self) -> int:
        """Of the clock, in the time of the trace."""
        return int(Fraction(self.interval) / (_STEPS * Fraction(self.time_scale)))

    def costs(self) -> dict[str, int]:
        """In the time of the trace, which is shorter than the time it stands for: each of its
        accesses is several, but a move is one.
        """
        detection = _DETECTIONS[self.detector]
        scan = detection.scan if self.scan_cost is None else self.scan_cost
        found = detection.found if self.fault_cost is None else self.fault_cost
        once = {"exchange_ps": self.move_cost, "scan_ps": scan, "found_ps": found}
        return {
            "far_read_ps": self.read[1] - self.read[0],
            "far_write_ps": self.write[1] - self.write[0],
            **{name: round(cost / Fraction(self.time_scale)) for name, cost in once.items()},
        }

    def sample(self) -> int:
        """How many accesses of the trace there are to one that is sampled."""
        return max(1, round(_SAMPLE / Fraction(self.time_scale)))


def flat_replay(
    trace: str | Path,
    options: FlatOptions | None = None,
    *,
    format: str = "auto",
    base: int | None = None,
    progress: Progress | None = None,
) -> FlatReplayResult:
    """Play a trace of what reaches memory through placement policies, for each size of near memory.

    Raises InputError for options that cannot be meant, and a trace that cannot be read, has no
    access, or does not say when memory is asked.
    """
    from nearfar import __version__, _core

    options = options or FlatOptions()
    check_one_of("format", format, readable())
    options.check()
    touches = _core.PageTouches(
        name=shown(trace), format=format, base=base or 0, step_ps=options.step()
    )
    stream = trace_pieces(trace, format, progress)
    with exact_end(touches):
        for piece in stream:
            touches.feed(piece)
    touches.finish()
    if touches.pages() == 0:
        raise InputError(f"{trace}: found no memory access, expected at least one")
    replayed = _Replay(touches, options, _memory_bytes(touches.header()))
    detection = {
        name: round(replayed.costs[f"{name}_ps"] * options.time_scale) for name in ("scan", "found")
    }
    return FlatReplayResult(
        version=__version__,
        file=Path(trace).name,
        format=touches.format(),
        page_bytes=PAGE,
        pages=touches.pages(),
        reads=touches.reads(),
        writes=touches.writes(),
        decisions=touches.intervals() - 1,
        interval_ns=options.interval / 1000,
        pairs=options.pairs,
        detector=options.detector,
        time_scale=options.time_scale,
        move_cost_ns=options.move_cost / 1000,
        scan_cost_ns=detection["scan"] / 1000,
        fault_cost_ns=detection["found"] / 1000,
        read_ns=tuple(cost / 1000 for cost in options.read),
        write_ns=tuple(cost / 1000 for cost in options.write),
        all_near_ns=replayed.time_ns(0),
        all_far_ns=replayed.time_ns(replayed.all_far()),
        sizes=tuple(replayed.size(size) for size in options.near),
        times_with_memory=not touches.is_of_program_alone(),
        memory_bytes=replayed.memory_bytes,
    )


def _memory_bytes(header: str) -> int | None:
    """The memory of the machine that was recorded, as a trace of our own says it."""
    found = header_of(header).get("memory_bytes")
    return found if isinstance(found, int) and found > 0 else None


class _Replay:
    def __init__(
        self, touches: PageTouches, options: FlatOptions, memory_bytes: int | None
    ) -> None:
        self.touches = touches
        self.options = options
        self.memory_bytes = memory_bytes
        self.costs = options.costs()
        self._near_ps = touches.duration_ps()
        if touches.is_of_program_alone():
            self._near_ps += touches.reads() * options.read[0] + touches.writes() * options.write[0]

    def time_ns(self, extra_ps: int) -> float:
        """Of so much more than all near, in the time that the trace stands for."""
        return (self._near_ps + extra_ps) * self.options.time_scale / 1000

    def all_far(self) -> int:
        reads = self.touches.reads() * self.costs["far_read_ps"]
        return reads + self.touches.writes() * self.costs["far_write_ps"]

    def size(self, size: str) -> FlatSize:
        """Every policy with near memory of that size, and the bounds."""
        whole = self.touches.pages()
        if self.memory_bytes is not None:
            whole = self.memory_bytes // PAGE
        near = near_pages(size, whole)
        # More near memory than pages changes nothing, and has no limit.
        frames = min(near, self.touches.pages())
        hottest, bound = self.touches.bound(near=frames, pairs=self.options.pairs, costs=self.costs)
        static = self._played(_STATIC, frames)
        extra = static["extra_ps"]
        others = [name for name in dict.fromkeys(self.options.policies) if name != _STATIC]
        return FlatSize(
            near_bytes=near * PAGE,
            near_pages=near,
            hottest_ns=self.time_ns(hottest),
            bound_ns=self.time_ns(bound),
            policies=(
                self._policy(_STATIC, static, extra, bound),
                *(self._policy(name, self._played(name, frames), extra, bound) for name in others),
            ),
        )

    def _played(self, policy: str, near: int) -> dict[str, Any]:
        return self.touches.replay(
            policy=policy,
            near=near,
            pairs=self.options.pairs,
            detector=self.options.detector,
            sample=self.options.sample(),
            costs=self.costs,
        )

    def _policy(self, policy: str, played: dict[str, Any], static: int, bound: int) -> FlatPolicy:
        extra = played.pop("extra_ps")
        intervals = played.pop("intervals")
        costs, scale = self.costs, self.options.time_scale
        moves = (played["promoted"] + played["demoted"]) * costs["exchange_ps"] // 2
        detecting = played["pages_scanned"] * costs["scan_ps"] + played["told"] * costs["found_ps"]
        return FlatPolicy(
            policy=policy,
            time_ns=self.time_ns(extra),
            slowdown=self.time_ns(extra) / self.time_ns(0),
            move_ns=moves * scale / 1000,
            detect_ns=detecting * scale / 1000,
            intervals={name: tuple(one[name] for one in intervals) for name in intervals[0]},
            gap_recovered=_recovered(static, extra, 0),
            bound_recovered=_recovered(static, extra, bound),
            **played,
        )


def _recovered(static: int, extra: int, best: int) -> float | None:
    return None if static <= best else (static - extra) / (static - best)
