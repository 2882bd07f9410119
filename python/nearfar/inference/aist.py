"""What the AIST micro-benchmarks say: latency beyond the caches, with and without write-back.

The time of a read with write-back is not that of a write: the evicted line leaves while the next
one is on its way. It bounds what write-back costs a reader. Bandwidth counts the useful bytes
once, though with write-back each line moves twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.inference.bandwidth import described, greatest, points, select
from nearfar.results.findings import Finding, Observation, identified, not_identifiable

PROBER = "aist"

_CHANGES = "load+store"  # what is read is changed
_LEVEL = 0.1  # the two largest buffers differ by no more: the latency is the memory's


def findings(observations: Sequence[Observation]) -> list[Finding]:
    """Findings of `aist.*`."""
    seen = points(observations, PROBER)
    return _read(seen) + _write_back(seen) + _bandwidth(seen)


def _read(seen: Sequence[Observation]) -> list[Finding]:
    return _beyond_buffers("aist.read.latency", select(seen, measured="chase", op="load"), "")


def _beyond_buffers(name: str, chases: Sequence[Observation], about: str) -> list[Finding]:
    """The latency of a list over buffer size, where it no longer depends on the size."""
    if not chases:
        return []
    chases = sorted(chases, key=lambda one: int(one.pattern["region_bytes"]))
    table = ", ".join(
        f"{one.pattern['region_bytes'] >> 20} MiB: {one.ns_per_access:.1f}" for one in chases
    )
    evidence = [one.id for one in chases]
    last = chases[-1]
    assert last.ns_per_access is not None
    low, high = last.interval or (last.ns_per_access, last.ns_per_access)
    reason = f"{about}ns by buffer size: {table}"
    before = chases[-2].ns_per_access if len(chases) > 1 else None
    if before is None or abs(last.ns_per_access - before) > _LEVEL * last.ns_per_access:
        reason = f"it still grows with the largest buffers; {reason}"
        return [not_identifiable(name, reason, evidence, (low, high))]
    return [identified(name, last.ns_per_access, reason, evidence, (low, high))]


def _write_back(seen: Sequence[Observation]) -> list[Finding]:
    name = "aist.write_back.latency"
    changing = select(seen, measured="chase", op=_CHANGES)
    if changing:
        about = "every node is changed before the next is read; no write's latency; "
        return _beyond_buffers(name, changing, about)
    return [not_identifiable(name, "no list was changed as it was read", ())] if seen else []


def _bandwidth(seen: Sequence[Observation]) -> list[Finding]:
    found = []
    for op, kind in (("load", "read"), (_CHANGES, "write_back")):
        scans = [
            one
            for one in select(seen, measured="stream")
            if one.pattern.get("stride_bytes") == one.pattern.get("access_bytes")
        ]
        own = select(scans, op=op)
        if own:
            found.append(greatest(f"aist.{kind}.bandwidth", own, described))
    return found
