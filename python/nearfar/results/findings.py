"""What a probe is: observations of a device, and what was found out from them.

An observation says what was done, completely enough to do it again access by access, and
what was measured. A finding is one parameter of the device, with the observations it rests
on, or the reason why it cannot be told. Findings follow from observations alone
(`nearfar.infer`): a result whose target was taken away gives the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from nearfar.errors import InputError
from nearfar.results.decode import encode
from nearfar.results.schema import Environment, Target

IDENTIFIED = "identified"
NOT_IDENTIFIABLE = "not_identifiable"

Histogram = Sequence[Sequence[float]]  # [[ns, accesses that took so long], ...], ascending

# Every name a finding may have, with its unit and meaning; N counts levels from the host,
# ACCESS is sequential, random or dependent.
NAMES: Mapping[str, tuple[str, str]] = {
    "levels": ("", "buffers that a read may find its line in, one behind the other"),
    "buffer.N.capacity": ("B", "bytes that the buffer holds"),
    "buffer.N.entry": ("B", "bytes of one entry"),
    "buffer.N.entries": ("", "entries"),
    "buffer.N.ways": ("", "entries of one set; all of them when fully associative"),
    "buffer.N.sets": ("", "sets; 1 when fully associative"),
    "buffer.N.policy": ("", "fifo, lru or random"),
    "buffer.N.latency": ("ns", "round trip of a dependent read that is served here"),
    "memory.latency": ("ns", "round trip of a dependent read that no buffer serves"),
    "hierarchy": ("", "inclusive (a miss fills every level) or independent"),
    "wpq.lines": ("", "64 B lines that the write pending queue holds"),
    "lsq.lines": ("", "64 B lines that the load-store queue holds, those being written too"),
    "fence.drains_lsq": ("", "whether an mfence sends on what waits in the load-store queue"),
    "modules": ("", "DIMMs that neighbouring addresses are spread over"),
    "interleave": ("B", "consecutive bytes on one module"),
    "migration": ("", "whether wear levelling moves a block that is written again and again"),
    "migration.period": ("writes", "mean number of writes to a block between two moves"),
    "migration.stall": ("ns", "length of the stall while a block moves"),
    "migration.block": ("B", "bytes whose writes are counted together"),
    "cache.N.capacity": ("B", "bytes that the processor's cache holds"),
    "cache.N.entry": ("B", "bytes of one line"),
    "cache.N.ways": ("", "lines of one set"),
    "cache.N.sets": ("", "sets"),
    "cache.N.policy": ("", "fifo, lru, plru (a tree), qlru (two bits of age) or random"),
    "cache.N.latency": ("ns", "round trip of a dependent load that is served here"),
    "cache.N.share": ("B", "bytes of it that served these walks, of a cache that others share"),
    "cache.N.write_back": (
        "ns",
        "what a load waits when it evicts a changed line, not a clean one",
    ),
    "tlb.N.entries": ("", "pages whose translations this level of the TLB holds"),
    "tlb.N.miss": ("ns", "what a load takes longer when the next level translates for it"),
    "tlb.walk": ("ns", "what a load takes longer when no level does, tables in the caches"),
    "tlb.page": ("B", "bytes that one translation covers in pages asked for as 2 MiB"),
    "core.clock": ("GHz", "sustained clock of the core: dependent additions, a cycle each"),
    "core.adds": ("/cycle", "independent additions that go on in a cycle"),
    "core.multiplies": ("/cycle", "independent multiplications"),
    "core.loads": ("/cycle", "independent loads from L1"),
    "core.multiply.latency": ("cycles", "a multiplication that another waits for"),
    "core.mispredict": ("ns", "what a branch costs that was predicted wrong"),
    "core.window": ("", "instructions between two misses that are still waited for at once"),
    "core.stores": ("", "stores between two misses that are still waited for at once"),
    "core.misses": ("", "lines that a core brings from memory in the time of one miss, at most"),
    "core.l2.misses": ("", "lines that L2 waits for at once"),
    "core.bandwidth": ("GB/s", "loads of one core in order, far beyond the caches"),
    "bandwidth.read.peak": ("GB/s", "most that reads move, over threads, sizes and strides"),
    "bandwidth.read.threads": ("", "threads at which reads move the most"),
    "bandwidth.read.knee": ("B", "smallest random access that reaches most of the bandwidth"),
    "bandwidth.read.fall": ("", "share of the peak that is left with the most threads"),
    "bandwidth.write.peak": ("GB/s", "most that writes move, over threads, sizes and strides"),
    "bandwidth.write.threads": ("", "threads at which writes move the most"),
    "bandwidth.write.knee": ("B", "smallest random access that reaches most of the bandwidth"),
    "bandwidth.write.fall": ("", "share of the peak that is left with the most threads"),
    "bandwidth.mix": ("", "bandwidth of reads and writes by halves, as a share of reads alone"),
    "bandwidth.latency.idle": ("ns", "a dependent random read with nothing beside it"),
    "bandwidth.latency.read": ("ns", "the same beside one thread that reads as fast as it can"),
    "bandwidth.latency.write": ("ns", "the same beside one thread that writes as fast as it can"),
    "bandwidth.latency.loaded": ("ns", "a random read while nine tenths of the most are moved"),
    "aist.read.latency": ("ns", "a dependent read of a list far beyond the caches"),
    "aist.write_back.latency": ("ns", "the same when every line is changed before the next"),
    "aist.read.bandwidth": ("GB/s", "most that sequential scans read, over processes"),
    "aist.write_back.bandwidth": ("GB/s", "the same when what is read is changed; counted once"),
    "ict.ACCESS.read": ("ns", "64 B of a block read: sequential, random or dependent"),
    "ict.ACCESS.write": ("ns", "64 B of a block written and left to the caches"),
    "ict.ACCESS.persist": ("ns", "64 B of a block written, written back and fenced"),
    "ict.value": ("", "whether what is written changes how long writing takes"),
    "ict.remote": ("ns", "what a dependent read on another node takes longer"),
    "near.capacity": ("B", "bytes of a near memory in front of the far one"),
    "near.line": ("B", "bytes that come and go together in the near memory"),
    "near.ways": ("", "conflicting lines that the near memory holds at once"),
    "near.prefetch": ("", "whether a miss brings neighbouring lines too"),
    "near.write": ("", "back or through: whether writes stay in the near memory"),
    "near.write_back": ("ns", "what a line that has to be written back when it is evicted costs"),
}

_LEVEL = re.compile(r"\.\d+\.")
_ACCESS = re.compile(r"\.(sequential|random|dependent)\.")


# What the pattern of an experiment has at least, by its kind; curves have kinds of their own.
NEEDED: Mapping[str, tuple[str, ...]] = {
    "sequence": ("order", "effort"),
    "chain": ("order", "pages"),
    "preconditions": ("found",),
    "point": ("measured", "op", "threads"),
    "nodes": ("memory", "own", "file"),
    "drop": ("changes",),
    "core_loop": ("name", "count"),
    "table": ("table",),
}
_ORDER = ("kind", "params")


@dataclass(frozen=True)
class Observation:
    """One experiment. What does not apply is left out.

    `pattern` is a dict of plain values: `kind` "sequence" with an `order` that
    `nearfar.inference.orders` rebuilds, or a pattern of `nearfar.measure`. What was measured is
    one or several of: a `histogram` of singly timed accesses after warm-up, and of those of
    the `first_pass`; `positions`, a histogram of the median over the passes at each place of
    the walk, which a rare delay leaves alone; all `samples` in ns where their order matters;
    the slow `events` of a long series as [index, ns]; the mean `ns_per_access` with the
    `interval` over repetitions, where single accesses are too short to be timed.
    """

    id: str  # the prober's name, a dot and a number
    prober: str
    pattern: Mapping[str, Any]
    accesses: int
    histogram: Histogram | None = None
    first_pass: Histogram | None = None
    positions: Histogram | None = None
    samples: Sequence[float] | None = None
    events: Sequence[Sequence[float]] | None = None
    ns_per_access: float | None = None
    interval: Sequence[float] | None = None

    def lacks(self) -> str | None:
        """What the pattern would need in addition to say what was done; None if it does."""
        needed = NEEDED.get(str(self.pattern.get("kind")), ())
        missing = [key for key in needed if key not in self.pattern]
        if not missing and "order" in needed:
            order = self.pattern["order"]
            given = order if isinstance(order, Mapping) else {}
            missing = [f"order.{key}" for key in _ORDER if key not in given]
        return missing[0] if missing else None


@dataclass(frozen=True)
class Finding:
    """A parameter of the device: its value, or why it cannot be told.

    `interval` holds the lowest and the highest value that the observations allow; a value that
    is a word has none. `reason` says what the finding follows from, or what is in the way.
    """

    name: str
    value: int | float | str | None
    unit: str
    interval: Sequence[float] | None
    status: str
    reason: str
    evidence: Sequence[str] = ()

    def __post_init__(self) -> None:
        if _known(self.name) not in NAMES:
            raise InputError(f"finding {self.name!r}: no such name")
        if self.status not in (IDENTIFIED, NOT_IDENTIFIABLE):
            raise InputError(f"finding {self.name!r}: no such status: {self.status!r}")


def identified(
    name: str,
    value: float | str,
    reason: str,
    evidence: Sequence[str],
    interval: tuple[float, float] | None = None,
) -> Finding:
    """A finding whose value is known; a number without an interval is exact."""
    if interval is None and not isinstance(value, str):
        interval = (value, value)
    return Finding(name, value, _unit(name), interval, IDENTIFIED, reason, tuple(evidence))


def not_identifiable(
    name: str,
    reason: str,
    evidence: Sequence[str],
    interval: tuple[float, float] | None = None,
) -> Finding:
    """A finding that cannot be made; `interval` bounds the value where anything does."""
    return Finding(name, None, _unit(name), interval, NOT_IDENTIFIABLE, reason, tuple(evidence))


def _unit(name: str) -> str:
    return NAMES[_known(name)][0] if _known(name) in NAMES else ""


def _known(name: str) -> str:
    """The name as the list above has it."""
    return _ACCESS.sub(".ACCESS.", _LEVEL.sub(".N.", name))


@dataclass(frozen=True, kw_only=True)
class ProbeResult:
    """What a probe of a target saw and found. Without its target it means the same."""

    SCHEMA: ClassVar[str] = "nearfar/result/1"

    target: Target | None = None
    environment: Environment | None = None
    pattern: Mapping[str, Any] = field(default_factory=dict)  # kind "probe", probers, quick
    observations: Sequence[Observation]
    findings: Sequence[Finding]
    interrupted: bool = False  # Ctrl-C: only the experiments that were finished are here

    def finding(self, name: str) -> Finding:
        """The finding of that name. Raises KeyError when it was not looked for."""
        for finding in self.findings:
            if finding.name == name:
                return finding
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, as `json.dumps` takes them."""
        return {"schema": self.SCHEMA, **encode(self)}
