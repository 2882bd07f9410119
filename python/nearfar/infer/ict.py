"""What the ICT micro-benchmarks say, per 64 B: how access, operation and block size matter.

A persisted write ends in the memory controller's persistence domain: what clwb and the fence
take is not the time of a write to the medium.
"""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.infer.bandwidth import points
from nearfar.results.findings import Finding, Observation, identified, not_identifiable

PROBER = "ict"

_OPERATIONS = {"load": "read", "store": "write", "store+clwb": "persist"}
_ACCESSES = ("sequential", "random", "dependent")
_BLOCK = 64  # the benchmark's default; other sizes are in the reason


def findings(observations: Sequence[Observation]) -> list[Finding]:
    """Findings of `ict.*`."""
    seen = points(observations, PROBER)
    if not seen:
        return []
    found = []
    for access in _ACCESSES:
        for op, word in _OPERATIONS.items():
            chosen = [one for one in seen if one.pattern["op"] == op and _access(one) == access]
            found += _one(f"ict.{access}.{word}", chosen)
    reason = "the stores of every kernel write the same words; nothing compares others with them"
    found.append(not_identifiable("ict.value", reason, ()))
    reason = "only one memory was probed; probe another node and compare the two results"
    dependent = [one.id for one in seen if _access(one) == "dependent"]
    return [*found, not_identifiable("ict.remote", reason, dependent)]


def _access(one: Observation) -> str:
    if one.pattern["measured"] == "chase":
        return "dependent"
    return "random" if one.pattern["stride_bytes"] == "random" else "sequential"


def _block(one: Observation) -> int:
    return int(one.pattern.get("block_bytes") or one.pattern["access_bytes"])


def _footprint(one: Observation) -> int:
    return int(one.pattern.get("region_bytes") or 0)


def _one(name: str, chosen: Sequence[Observation]) -> list[Finding]:
    """The default block over the largest footprint; the other points say what they change."""
    ordered = sorted(chosen, key=lambda one: (_block(one), -_footprint(one)))
    main = next((one for one in ordered if _block(one) == _BLOCK), None)
    if main is None or main.ns_per_access is None:
        return []
    low, high = main.interval or (main.ns_per_access, main.ns_per_access)
    others = "; ".join(f"{_words(one)}: {one.ns_per_access:.1f}" for one in ordered)
    reason = f"ns for 64 B by block: {others}"
    if name == "ict.dependent.write":
        reason += "; the order comes from a table, so stores need not wait for each other"
    evidence = [one.id for one in ordered]
    return [identified(name, main.ns_per_access, reason, evidence, (low, high))]


def _words(one: Observation) -> str:
    footprint = _footprint(one)
    return f"{_block(one)} B" + (f" over {footprint >> 20} MiB" if footprint else "")
