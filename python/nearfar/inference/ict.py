"""What the ICT micro-benchmarks say, per 64 B: how access, operation and block size matter.

A persisted write ends in the memory controller's persistence domain: what clwb and the fence
take is not the time of a write to the medium.
"""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.inference import ict_value
from nearfar.inference.bandwidth import points
from nearfar.results.findings import Finding, Observation, identified, not_identifiable

PROBER = "ict"

_OPERATIONS = {"load": "read", "store": "write", "store+clwb": "persist"}
_LIST = "dependent"
_ACCESSES = ("sequential", "random", _LIST)
_BLOCK = 64  # the benchmark's default; other sizes are in the reason


def findings(observations: Sequence[Observation]) -> list[Finding]:
    """Findings of `ict.*`."""
    seen = points(observations, PROBER)
    if not seen:
        return []
    found = []
    plain = [one for one in seen if "value" not in one.pattern and "node" not in one.pattern]
    for access in _ACCESSES:
        for op, word in _OPERATIONS.items():
            chosen = [one for one in plain if one.pattern["op"] == op and _access(one) == access]
            found += _one(f"ict.{access}.{word}", chosen)
    return [*found, ict_value.finding(seen), _remote(observations, seen)]


def _access(one: Observation) -> str:
    if one.pattern["measured"] == "chase":
        return _LIST
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


def _remote(observations: Sequence[Observation], seen: Sequence[Observation]) -> Finding:
    """What a dependent read on another node takes longer than on the processor's own."""
    name = "ict.remote"
    nodes = next((one for one in observations if one.pattern.get("kind") == "nodes"), None)
    if nodes is None:
        reason = "a model has one memory; give one model a link, and compare the two results"
        return not_identifiable(name, reason, [one.id for one in seen if _access(one) == _LIST])
    own, others = nodes.pattern["own"], len(nodes.pattern["memory"]) - 1
    reads = [one for one in seen if "node" in one.pattern]
    here = next((one for one in reads if one.pattern["node"] == own), None)
    there = next((one for one in reads if one.pattern["node"] != own), None)
    if here is None or there is None:
        reason = "this machine has memory on one node alone"
        if others > 0:
            reason = "the file's node is not known" if nodes.pattern["file"] else "interrupted"
        return not_identifiable(name, reason, [nodes.id])
    assert here.ns_per_access is not None
    assert there.ns_per_access is not None
    near, far = (one.interval or (one.ns_per_access,) * 2 for one in (here, there))
    reason = (
        f"a dependent read takes {there.ns_per_access:.1f} ns on node {there.pattern['node']} "
        f"and {here.ns_per_access:.1f} ns on the processor's own, {own}"
    )
    bounds = (round(far[0] - near[1], 4), round(far[1] - near[0], 4))  # type: ignore[operator]
    more = round(there.ns_per_access - here.ns_per_access, 4)
    if bounds[0] <= 0:
        reason = f"no more than noise; {reason}"
        bounds = (0.0, max(bounds[1], 0.0))  # a distance is not negative, whatever noise says
        return not_identifiable(name, reason, [here.id, there.id], bounds)
    return identified(name, more, reason, [here.id, there.id], bounds)
