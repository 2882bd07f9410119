"""What moves: peak, the threads it takes, the smallest efficient access, mixtures, load."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nearfar.results.findings import Finding, Observation, identified, not_identifiable

PROBER = "bandwidth"

LINE = 64
_NEAR_PEAK = 0.97  # of the peak: as good as it
_MOST = 0.8  # of what the largest access reaches: an efficient size
_FLAT = 0.1  # sizes that differ by no more show no knee
_BUSY = 0.9  # of the most that the others move: a loaded memory
_DECIMALS = 3

_LATENCIES = {"none": "idle", "load": "read", "ntstore": "write"}


def findings(observations: Sequence[Observation]) -> list[Finding]:
    """Findings of `bandwidth.*`."""
    seen = points(observations, PROBER)
    found = []
    for direction, share in (("read", 100), ("write", 0)):
        own = [one for one in seen if one.pattern.get("reads_percent") == share]
        found += _peak(direction, own)
        found += _knee(direction, own)
    return found + _mix(seen) + _latencies(seen) + _loaded(observations)


def points(observations: Sequence[Observation], prober: str) -> list[Observation]:
    """A prober's measured points."""
    return [
        one
        for one in observations
        if one.prober == prober and one.pattern.get("kind") == "point" and one.ns_per_access
    ]


def select(seen: Sequence[Observation], **wanted: object) -> list[Observation]:
    """Those whose patterns hold these values."""
    return [
        one for one in seen if all(one.pattern.get(key) == value for key, value in wanted.items())
    ]


def rate(one: Observation) -> tuple[float, float, float]:
    """10^9 bytes a second over all threads, and the interval."""
    assert one.ns_per_access is not None
    moved = LINE * int(one.pattern["threads"])
    low, high = one.interval or (one.ns_per_access, one.ns_per_access)
    return moved / one.ns_per_access, moved / high, moved / low


def greatest(
    name: str, seen: Sequence[Observation], about: Callable[[Observation], str]
) -> Finding:
    """The largest rate among points, as a finding."""
    best = max(seen, key=lambda one: rate(one)[0])
    value, low, high = (round(part, _DECIMALS) for part in rate(best))
    reason = f"the most of {len(seen)} settings: {about(best)}"
    return identified(name, value, reason, [best.id], (low, high))


def described(one: Observation) -> str:
    """A setting in words."""
    pattern = one.pattern
    count = pattern["threads"]
    stride = pattern["stride_bytes"]
    order = "random" if stride == "random" else f"every {stride} B"
    threads = f"{count} thread{'s' if count > 1 else ''}"
    return f"{threads}, accesses of {pattern['access_bytes']} B, {order}"


def _sequential(seen: Sequence[Observation]) -> list[Observation]:
    return [
        one
        for one in seen
        if one.pattern.get("stride_bytes") == one.pattern.get("access_bytes")
        and "outstanding" not in one.pattern
    ]


def _peak(direction: str, seen: Sequence[Observation]) -> list[Finding]:
    if not seen:
        return []
    found = [greatest(f"bandwidth.{direction}.peak", seen, described)]
    steps = sorted(_sequential(seen), key=lambda one: int(one.pattern["threads"]))
    if len(steps) < 2:
        reason = "only one thread can run here"
        ids = [one.id for one in steps]
        return [*found, not_identifiable(f"bandwidth.{direction}.threads", reason, ids)]
    rates = [rate(one) for one in steps]
    threads = [int(one.pattern["threads"]) for one in steps]
    evidence = [one.id for one in steps]
    table = ", ".join(f"{n}: {one[0]:.2f}" for n, one in zip(threads, rates, strict=True))
    name = f"bandwidth.{direction}.threads"
    reason = f"GB/s by threads, sequentially: {table}"
    enough, late, early = (_near_peak(rates, part) for part in range(3))
    low = threads[early - 1] + 1 if early else 1
    if late == len(steps) - 1:
        reason += "; still rising with the most, or noise hides that it is not"
        found.append(not_identifiable(name, reason, evidence, (low, threads[-1])))
    else:
        found.append(identified(name, threads[enough], reason, evidence, (low, threads[late])))
    left, least, most = _ratio(steps[-1], max(steps, key=lambda one: rate(one)[0]))
    name = f"bandwidth.{direction}.fall"
    reason = f"with {threads[-1]} threads, of the peak; {reason}"
    return [*found, identified(name, left, reason, evidence, (least, most))]


def _near_peak(rates: Sequence[tuple[float, float, float]], part: int) -> int:
    """The first that is as good as the peak: by its rate, or by the low or high end of that."""
    best = max(range(len(rates)), key=lambda at: rates[at][0])
    enough = _NEAR_PEAK * rates[best][0]
    return next(at for at, one in enumerate(rates) if at == best or one[part] >= enough)


def _ratio(one: Observation, other: Observation) -> tuple[float, float, float]:
    value, low, high = rate(one)
    base, least, most = rate(other)
    if one is other:
        return 1.0, 1.0, 1.0
    return (
        round(value / base, _DECIMALS), round(low / most, _DECIMALS), round(high / least, _DECIMALS)
    )  # fmt: skip


def _knee(direction: str, seen: Sequence[Observation]) -> list[Finding]:
    """Where random accesses become efficient: below it the device moves more than is asked."""
    random = [
        one
        for one in select(seen, stride_bytes="random", measured="stream")
        if "outstanding" not in one.pattern
    ]
    sizes = sorted(random, key=lambda one: int(one.pattern["access_bytes"]))
    if len(sizes) < 3:
        return []
    name = f"bandwidth.{direction}.knee"
    rates = [rate(one) for one in sizes]
    largest = max(value for value, _, _ in rates)
    bytes_ = [int(one.pattern["access_bytes"]) for one in sizes]
    table = ", ".join(f"{size} B: {one[0]:.2f}" for size, one in zip(bytes_, rates, strict=True))
    reason = f"GB/s by size of random accesses: {table}"
    evidence = [one.id for one in sizes]
    if min(value for value, _, _ in rates) >= (1 - _FLAT) * largest:
        return [not_identifiable(name, f"all sizes reach the same; {reason}", evidence)]
    # By the lower and by the upper ends of the intervals: both have to name one size.
    by = [
        next(i for i, value in enumerate(ends) if value >= _MOST * largest)
        for ends in ([one[1] for one in rates] + [largest], [one[2] for one in rates])
    ]
    first = next(i for i, (value, _, _) in enumerate(rates) if value >= _MOST * largest)
    if by[0] >= len(sizes) or by[0] != by[1]:
        bounds = (bytes_[by[1]], bytes_[min(by[0], len(sizes) - 1)])
        reason = f"noise does not tell which of two sizes is the first; {reason}"
        return [not_identifiable(name, reason, evidence, bounds)]
    low = bytes_[first - 1] + LINE if first else bytes_[0]
    return [identified(name, bytes_[first], reason, evidence, (low, bytes_[first]))]


def _mix(seen: Sequence[Observation]) -> list[Finding]:
    mixed = select(seen, reads_percent=50, measured="stream")
    if not mixed:
        return []
    threads = mixed[0].pattern["threads"]
    alone = [one for one in _sequential(select(seen, reads_percent=100)) if
             one.pattern["threads"] == threads]  # fmt: skip
    if not alone:
        reason = f"reads alone were not measured with {threads} threads"
        return [not_identifiable("bandwidth.mix", reason, [mixed[0].id])]
    value, low, high = _ratio(mixed[0], alone[0])
    reason = (
        f"{rate(mixed[0])[0]:.2f} GB/s by halves, {rate(alone[0])[0]:.2f} GB/s of reads alone, "
        f"with {threads} threads"
    )
    evidence = [mixed[0].id, alone[0].id]
    return [identified("bandwidth.mix", value, reason, evidence, (low, high))]


def _latencies(seen: Sequence[Observation]) -> list[Finding]:
    found = []
    for one in select(seen, measured="contention"):
        if one.pattern["other"] not in _LATENCIES or "delay_ns" in one.pattern:
            continue
        assert one.ns_per_access is not None
        low, high = one.interval or (one.ns_per_access, one.ns_per_access)
        beside = one.pattern.get("other_gb_per_s")
        reason = "mean of dependent random reads"
        if beside is not None:
            reason += f"; the other thread moved {beside:.2f} GB/s"
        name = f"bandwidth.latency.{_LATENCIES[one.pattern['other']]}"
        found.append(identified(name, one.ns_per_access, reason, [one.id], (low, high)))
    return found


def _loaded(observations: Sequence[Observation]) -> list[Finding]:
    """Where the loaded-latency table reaches nine tenths of its most."""
    name = "bandwidth.latency.loaded"
    steps = _injected(observations)
    if not steps:
        if not select(points(observations, PROBER), measured="contention"):
            return []
        reason = "needs a second processor, for the load beside the reads"
        return [not_identifiable(name, reason, ())]
    table = loaded_latency(observations)
    text = ", ".join(f"{moved:.2f}: {ns:.0f}" for moved, ns in table)
    reason = f"ns of a dependent read by GB/s moved beside it: {text}"
    evidence = [one.id for one in steps]
    most = max(moved for moved, _ in table)
    busy = [ns for moved, ns in table if moved >= _BUSY * most]
    before = [ns for moved, ns in table if moved < _BUSY * most]
    # The load that is asked for is one of a few: the answer lies between two of them, and where
    # more than one moves as much, noise alone has put one of them first.
    at = next(one for one in steps if one.ns_per_access == busy[0])
    low, high = at.interval or (busy[0], busy[0])
    bounds = (min([low, *before[-1:], *busy]), max(high, *busy))
    return [identified(name, busy[0], reason, evidence, bounds)]


def _injected(observations: Sequence[Observation]) -> list[Observation]:
    return [
        one
        for one in points(observations, PROBER)
        if "delay_ns" in one.pattern and "other_gb_per_s" in one.pattern
    ]


def loaded_latency(observations: Sequence[Observation]) -> list[tuple[float, float]]:
    """The table of GB/s that others move and latency in ns of a dependent read beside them."""
    return sorted(
        (float(one.pattern["other_gb_per_s"]), float(one.ns_per_access or 0.0))
        for one in _injected(observations)
    )
