"""What the AIST micro-benchmarks say: latency beyond the caches, with and without write-back.

The time of a read with write-back is not that of a write: the evicted line leaves while the next
one is on its way. It bounds what write-back costs a reader. Bandwidth counts the useful bytes
once, though with write-back each line moves twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.infer.bandwidth import described, greatest, points, select
from nearfar.results.findings import Finding, Observation, identified, not_identifiable

PROBER = "aist"

_LEVEL = 0.1  # the two largest buffers differ by no more: the latency is the memory's


def findings(observations: Sequence[Observation]) -> list[Finding]:
    """Findings of `aist.*`."""
    seen = points(observations, PROBER)
    return _read(seen) + _write_back(seen) + _bandwidth(seen)


def _read(seen: Sequence[Observation]) -> list[Finding]:
    name = "aist.read.latency"
    chases = sorted(
        select(seen, measured="chase", op="load"), key=lambda one: int(one.pattern["region_bytes"])
    )
    if not chases:
        return []
    table = ", ".join(
        f"{one.pattern['region_bytes'] >> 20} MiB: {one.ns_per_access:.1f}" for one in chases
    )
    evidence = [one.id for one in chases]
    last = chases[-1]
    assert last.ns_per_access is not None
    low, high = last.interval or (last.ns_per_access, last.ns_per_access)
    reason = f"ns by buffer size: {table}"
    before = chases[-2].ns_per_access if len(chases) > 1 else None
    if before is None or abs(last.ns_per_access - before) > _LEVEL * last.ns_per_access:
        reason = f"it still grows with the largest buffers; {reason}"
        return [not_identifiable(name, reason, evidence, (low, high))]
    return [identified(name, last.ns_per_access, reason, evidence, (low, high))]


def _write_back(seen: Sequence[Observation]) -> list[Finding]:
    name = "aist.write_back.latency"
    single = select(seen, measured="stream", outstanding=1)
    if not single:
        if not seen:
            return []
        reason = (
            "needs a list whose nodes are changed as they are read, with the next read waiting; "
            "no kernel for this target does both"
        )
        return [not_identifiable(name, reason, ())]
    found = []
    for one in select(single, op="store"):
        assert one.ns_per_access is not None
        low, high = one.interval or (one.ns_per_access, one.ns_per_access)
        alone = select(single, op="load")
        beside = f", {alone[0].ns_per_access:.1f} ns if it is only read" if alone else ""
        reason = f"a random line fetched and changed, one at a time{beside}; not a write's latency"
        evidence = [one.id, *(other.id for other in alone)]
        found.append(identified(name, one.ns_per_access, reason, evidence, (low, high)))
    return found


def _bandwidth(seen: Sequence[Observation]) -> list[Finding]:
    found = []
    for op, kind in (("load", "read"), ("store", "write_back")):
        scans = [
            one
            for one in select(seen, measured="stream", op=op)
            if one.pattern.get("stride_bytes") == one.pattern.get("access_bytes")
        ]
        if scans:
            found.append(greatest(f"aist.{kind}.bandwidth", scans, described))
    return found
