"""The continuous parameters that stage two fits, in blocks, with how sure the base is of each."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from nearfar.model import Model
from nearfar.model.schema import KEYS

# Standard deviation of ln(value / base's value), before anything is measured. Times of devices
# differ by a factor of two either way; a processor's paths are known from the base that names it.
DEVICE, KNOWN_CORE = math.log(2), 0.1


@dataclass(frozen=True)
class Parameter:
    """A key, the value in base units that its search starts from, and how uncertain that is."""

    key: str
    start: float
    spread: float
    block: str

    def value(self, log: float) -> int:
        """The value in base units, a whole number within the schema's range, at exp(`log`)."""
        key = KEYS[self.key]
        low = 1 if key.low is None else max(1.0, key.low)
        high = math.inf if key.high is None else key.high
        return round(min(high, max(low, self.start * math.exp(log))))

    def bounds(self) -> tuple[float, float]:
        """The lowest and highest logarithm that the search may reach."""
        return -_REACH, _REACH


_REACH = math.log(8)

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
    ("wear", ("nvdimm.wear.stall", "nvdimm.wear.writes")),
    (
        "core",
        (
            *("cpu.path.read_out", "cpu.path.read_back", "cpu.path.nt_out", "cpu.path.nt_back"),
            *("cpu.issue.load", "cpu.issue.store", "cpu.fence.mfence"),
        ),
    ),
)


def candidates(model: Model, fixed: Collection[str]) -> Iterator[Parameter]:
    """What may be fitted of `model`: all but what is `fixed`, in the order of the blocks."""
    levels = int(model["nvdimm.levels"]) if str(model["machine"]) == "nvdimm" else 0
    for block, keys in _BLOCKS:
        for key in keys:
            if key in fixed or key not in model.values or _unused(key, levels):
                continue
            start = float(model[key])
            if start > 0:
                spread = KNOWN_CORE if block == "core" and levels else DEVICE
                yield Parameter(key, start, spread, block)


def _unused(key: str, levels: int) -> bool:
    """Whether it belongs to a buffer that the DIMM does not have."""
    return key.startswith("nvdimm.buffer.") and int(key.split(".")[2]) > levels
