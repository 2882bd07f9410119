"""The continuous parameters that stage two fits, in blocks, with how sure the base is of each."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from nearfar.model import Model
from nearfar.model.schema import KEYS

# Standard deviation of ln(value / base's value), before anything is measured: times of devices
# differ by a factor of two either way.
DEVICE = math.log(2)


@dataclass(frozen=True)
class Parameter:
    """A key, the value in base units that its search starts from, and how uncertain that is."""

    key: str
    start: float
    spread: float
    block: str
    lowest: float = 0.0  # value in base units
    limiting: int = 1  # the side to which it becomes a limit: longer for a time, less of a count
    tied: tuple[tuple[str, float], ...] = ()  # further keys and their starts, which move alike

    @property
    def is_a_sum(self) -> bool:
        """Whether its keys are parts of one time, and how much is whose does not show."""
        return bool(self.tied) and self.limiting > 0

    def value(self, log: float) -> int:
        """The value in base units, a whole number within the schema's range, at exp(`log`)."""
        return _moved(self.key, self.start, log)

    def values(self, log: float) -> dict[str, int]:
        """The same, with what is tied to it."""
        moved = {key: _moved(key, start, log) for key, start in self.tied}
        return {self.key: self.value(log), **moved}

    def step(self, log: float, least: float) -> float:
        """From exp(`log`), at least so far as that the next whole number is reached."""
        exact = self.start * math.exp(log)
        return max(least, math.log((self.value(log) + 1) / exact))

    def bounds(self) -> tuple[float, float]:
        """The lowest and highest logarithm that the search may reach."""
        low = math.log(self.lowest / self.start) if self.lowest > 0 else -_REACH
        return max(-_REACH, low), _REACH


def _moved(name: str, start: float, log: float) -> int:
    key = KEYS[name]
    low = 1 if key.low is None else max(1.0, key.low)
    high = math.inf if key.high is None else key.high
    return round(min(high, max(low, start * math.exp(log))))


_REACH = math.log(8)

POWER, _STATIC = "nvdimm.power_budget", "nvdimm.power_static"
_LEAST_POWER = 1.2  # of what is drawn at idle

_CORE, _LINES = "core", "lines in flight"

# Paths that a measurement sees as a sum, or as the longer of two; a count that is one in the
# machine and two in the model's two kinds of core; and how far a prefetcher is ahead, which takes
# both the distance and registers.
_TIED: dict[str, tuple[str, ...]] = {
    "cpu.path.read_out": ("cpu.path.read_back",),
    "cpu.path.nt_out": ("cpu.path.nt_back", "cpu.issue.store"),
    "cpu.load_buffers": ("cpu.l1.mshrs",),
    "cpu.l2.mshrs": ("cpu.prefetch.distance",),
}

# Blocks in the order in which they are fitted, each on what the ones before have settled.
_BLOCKS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "hits",
        (
            *("nvdimm.buffer.1.latency", "nvdimm.buffer.1.line", "nvdimm.bus.request"),
            *("nvdimm.bus.grant", "nvdimm.lsq.latency"),
        ),
    ),
    (
        "misses",
        (
            *("nvdimm.media.read_latency", "nvdimm.buffer.2.latency", "nvdimm.buffer.3.latency"),
            "nvdimm.table.latency",
        ),
    ),
    ("read rates", ("nvdimm.media.read_interval", "nvdimm.media.read_partition")),
    ("write rates", ("nvdimm.media.write_interval", "nvdimm.media.write_partition")),
    ("power", (POWER,)),
    ("wear", ("nvdimm.wear.stall", "nvdimm.wear.writes")),
    ("link", ("link.request_latency", "link.response_latency", "link.slot")),
    ("near", ("near.latency",)),
    (
        _CORE,
        (
            *("cpu.path.read_out", "cpu.path.nt_out"),
            *("cpu.issue.load", "cpu.fence.mfence"),
        ),
    ),
    (_LINES, ("cpu.load_buffers", "cpu.l2.mshrs", "cpu.tlb.walkers")),
)


def candidates(model: Model, fixed: Collection[str]) -> Iterator[Parameter]:
    """What may be fitted of `model`: all but what is `fixed`, in the order of the blocks."""
    levels = int(model["nvdimm.levels"]) if str(model["machine"]) == "nvdimm" else 0
    for block, keys in _BLOCKS:
        if block in (_CORE, _LINES) and levels:
            continue  # the base names the processor; its paths and the bus of a DIMM are one sum
        for key in keys:
            if key in fixed or key not in model.values or _unused(key, model, levels):
                continue
            start = float(model[key])
            if start > 0:
                if key == POWER:
                    lowest = _LEAST_POWER * float(model[_STATIC])
                    yield Parameter(key, start, DEVICE, block, lowest, limiting=-1)
                else:
                    limiting = -1 if block == _LINES else 1
                    also = tuple(
                        (own, float(model[own])) for own in _TIED.get(key, ()) if own not in fixed
                    )
                    yield Parameter(key, start, DEVICE, block, 1.0, limiting=limiting, tied=also)


def power_of_rate(model: Model, key: str, interval: float) -> float | None:
    """The power budget in mW that limits the media to one access an `interval` in ps, as the time
    `key` does; None for a time that no budget can stand for."""
    energy = _ENERGIES.get(key)
    if energy is None or interval <= 0:
        return None
    return float(model[_STATIC]) + 1000 * float(model[energy]) / interval  # pJ / ps are W


_ENERGIES = {
    "nvdimm.media.read_interval": "nvdimm.media.read_energy",
    "nvdimm.media.write_interval": "nvdimm.media.write_energy",
}


def _unused(key: str, model: Model, levels: int) -> bool:
    """Whether it belongs to a part that the machine does not have."""
    if key == "cpu.l2.mshrs":
        return not bool(model["cpu.prefetch.stream"])
    if key.startswith("nvdimm.wear."):
        return int(model["nvdimm.wear.writes"]) == 0
    return key.startswith("nvdimm.buffer.") and int(key.split(".")[2]) > levels
