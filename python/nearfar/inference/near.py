"""A near memory in front of a far one, by conflicts of addresses that lie as they are given.

Places a distance apart are read in turn, again and again. While near memory holds them all,
every read is quick; when one more than a set holds share a set, some are not. With sets of
S bytes, distances of D and w ways, places begin to miss when there are more than
w * S / gcd(D, S) of them. So, of power-of-two distances,

* the largest all show the same number P = w * m, where S is m * 2^k and m odd; the smallest
  distance that still does is 2^k, and P * 2^k is the *capacity*, whatever m is;
* at j * 2^k the number is P / gcd(j, m): the largest odd j that divides it so is m, and what is
  left are the *ways*;
* one too many share a set: moved by less than a *line* it still does, by a line it does not.

A far memory has buffers of its own, which answer quickly what was just read. So between two
rounds many other places are read, fresh in every buffer and in sets of their own. A buffer whose
sets lie as far apart as those places conflicts all the same; but it has fewer entries than a near
memory has lines, and what has fewer is not claimed to be one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt

from nearfar.inference.orders import LINE
from nearfar.inference.study import Findings, MissingError, Request, Study, quantile, size, slower
from nearfar.results.findings import Observation, identified
from nearfar.results.wording import size as size_of

PROBER = "memory-mode"

NAMES = (
    "near.capacity",
    "near.line",
    "near.ways",
    "near.prefetch",
    "near.write",
    "near.write_back",
)

# Why nothing of a near memory is claimed. A device's own buffers conflict just as its lines do.
UNSEEN = "no cache of memory behind the last cache was seen"
# A buffer of a device has fewer entries than a near memory has lines; those of several modules
# conflict together. Stores that stay before the device are none of its buffers' doing.
FEWEST_LINES = {"back": 16384, "through": 8 * 16384}

_SMALLEST, _LARGEST = 15, 40  # powers of two: distances
_MOST = 256  # places
_ROUNDS = (12, 24)
_CONTROL = (128, 128)
_AGAIN = (320, 320)  # rounds where fewer leave it open
_NEARLY = 0.6  # of far memory's latency cold: it may be that much quicker warm
_FAR = 2.0  # times a hit: a near memory is worth having only if what is behind it is far slower
_SIGMA, _OPEN = 4.0, 1.0  # by so many errors more reads miss, or may miss, than are late
_CONFLICTING = 0.2  # of the reads miss, at least, where twice as many places as fit are read
_LINES = tuple(LINE << i for i in range(7))  # up to 4 KiB
_STORES = (400, 1200)


@dataclass(frozen=True)
class _Scale:
    """What is quick and what is slow here, and how often quick reads are late (refresh)."""

    hit_ns: float
    far_ns: float
    late: float  # share of the reads
    reads: int
    evidence: str

    @property
    def slow_ns(self) -> float:
        return max(sqrt(self.hit_ns * self.far_ns), _NEARLY * self.far_ns)


def study(found: Findings) -> Study[None]:
    """Finds `near.*`, or says of all of them why not."""
    try:
        scale = yield from _scale()
    except MissingError:
        return found.lack(
            NAMES, "the experiments that show what is quick and what is slow were not made"
        )
    if isinstance(scale, str):
        return found.lack(NAMES, f"{UNSEEN}: {scale}")
    claimed = Findings()
    try:
        sets = yield from _sets(scale)
        if sets is None:
            return found.lack(
                NAMES,
                f"{UNSEEN}: no number of places, a power of two of bytes apart, is where conflicts "
                "begin",
                [scale.evidence],
            )
        if (yield from _organisation(claimed, scale, *sets)) is None:
            return found.lack(
                NAMES,
                f"{UNSEEN}: of places that seem to conflict nearly all are served; what is late "
                "now and then, a refresh, is late without",
                sets[0].evidence,
            )
    except MissingError:
        return found.lack(NAMES, "experiments were not made, or reach beyond the memory")
    return _judged(found, claimed)


def _judged(found: Findings, claimed: Findings) -> None:
    """Takes over what was found, unless a buffer of the device would conflict like that."""
    capacity, line = claimed.value("near.capacity"), claimed.value("near.line")
    assert isinstance(capacity, int)
    evidence = [one for finding in claimed.all()[:2] for one in finding.evidence]
    what = f"what conflicts holds {size_of(capacity)}"
    if not isinstance(line, int):
        return found.lack(
            NAMES, f"{UNSEEN}: {what} in lines of unknown length: a buffer does too", evidence
        )
    write = claimed.value("near.write")
    fewest = FEWEST_LINES[str(write)]
    if capacity // line < fewest:
        return found.lack(
            NAMES,
            f"{UNSEEN}: {what} in {capacity // line} lines of {line} B, written {write}, and "
            f"buffers of a device may have {fewest} entries",
            evidence,
        )
    return found.add(*claimed.all())


def _circle(
    places: int,
    distance: int,
    rounds: tuple[int, int] = _ROUNDS,
    moved: int = 0,
    shift: int = 0,
) -> Request:
    params = {"places": places, "distance": distance, "moved": moved, "shift": shift}
    if rounds == _AGAIN:
        params["again"] = 1
    return Request(PROBER, "circle", params, {"rounds": rounds})


def _scale() -> Study[_Scale | str]:
    """What is quick and what is slow, or why there is no such difference."""
    one = yield _circle(64, 0, _CONTROL)  # one place, again and again
    many = yield _circle(_MOST, 1 << _SMALLEST)
    assert one.histogram is not None
    assert many.first_pass is not None
    hit, far = quantile(one.histogram, 0.5), quantile(many.first_pass, 0.5)
    if far < _FAR * hit:
        return (
            f"a place read again after many others takes {hit:.0f} ns, one never read before "
            f"{far:.0f} ns, not twice as long"
        )
    reads = size(one.histogram)
    late = slower(one.histogram, _Scale(hit, far, 0.0, reads, one.id).slow_ns) / reads
    return _Scale(hit, far, late, reads, one.id)


@dataclass(frozen=True)
class _Seen:
    """Whether some reads of a circle were not served, and the observation that says so."""

    misses: bool
    id: str


def _try(scale: _Scale, places: int, distance: int, moved: int = 0, shift: int = 0) -> Study[_Seen]:
    """Reads that miss are always the same, or they are more than are late anyway.

    The latter under random replacement: where it is not clear, the circle is gone round longer.
    """
    seen = yield _circle(places, distance, _ROUNDS, moved, shift)
    excess = _excess(seen, scale)
    if _OPEN < excess < 4 * _SIGMA:
        seen = yield _circle(places, distance, _AGAIN, moved, shift)
        excess = _excess(seen, scale)
    return _Seen(excess > _SIGMA, seen.id)


def _excess(seen: Observation, scale: _Scale) -> float:
    """By how many errors more reads are slow than are late anyway; infinite where a place is."""
    assert seen.histogram is not None
    assert seen.positions is not None
    if slower(seen.positions, scale.slow_ns) > 0:
        return inf
    reads = size(seen.histogram)
    share = slower(seen.histogram, scale.slow_ns) / reads
    error = sqrt((scale.late + 1 / scale.reads) * (1 / reads + 1 / scale.reads))
    return (share - scale.late) / error


@dataclass(frozen=True)
class _Sets:
    """P places fit at any power of two from `distance` on; `evidence` shows it."""

    fit: int
    distance: int
    evidence: tuple[str, ...]


def _sets(scale: _Scale) -> Study[tuple[_Sets] | None]:
    """The largest distances come first: at those the fewest places share a set."""
    fit = 0
    last: tuple[str, ...] = ()
    for power in range(_LARGEST, _SMALLEST - 1, -1):
        distance = 1 << power
        if fit == 0:
            found = yield from _fit(scale, distance)
            if found is not None:
                fit, last = found
            continue
        seen = yield from _try(scale, fit + 1, distance)
        if not seen.misses:
            return (_Sets(fit, 2 * distance, (*last, seen.id)),)
        last = (last[0], seen.id)
    return None


def _fit(scale: _Scale, distance: int) -> Study[tuple[int, tuple[str, ...]] | None]:
    """The most places at a distance that are all served, if that can be told."""
    most = _MOST
    seen: _Seen | None = None
    while seen is None and most > 1:
        try:
            seen = yield from _try(scale, most, distance)
        except MissingError:
            most //= 2
    if seen is None or not seen.misses:
        return None
    served, misses = 0, most
    ids = {most: seen.id, 0: scale.evidence}
    while misses - served > 1:
        middle = (served + misses) // 2
        seen = yield from _try(scale, middle, distance)
        ids[middle] = seen.id
        if seen.misses:
            misses = middle
        else:
            served = middle
    return (served, (ids[served], ids[misses])) if served > 0 else None


def _organisation(found: Findings, scale: _Scale, sets: _Sets) -> Study[bool | None]:
    """Finds everything; None where twice as many places as fit are served nonetheless."""
    capacity = sets.fit * sets.distance
    found.add(
        identified(
            "near.capacity",
            capacity,
            f"{sets.fit} places {sets.distance} B apart, or any power of two more, are served, "
            f"one more is not; at {sets.distance // 2} B it is",
            sets.evidence,
        )
    )
    odd, evidence = 1, list(sets.evidence)
    for factor in range(3, sets.fit + 1, 2):
        if sets.fit % factor:
            continue
        try:
            seen = yield from _try(scale, sets.fit // factor + 1, factor * sets.distance)
        except MissingError:  # beyond the memory
            continue
        if seen.misses:
            odd = factor
            evidence = [seen.id]
    ways, apart = sets.fit // odd, odd * sets.distance
    crowd = yield _circle(2 * ways, apart)
    assert crowd.histogram is not None
    if slower(crowd.histogram, scale.slow_ns) < _CONFLICTING * size(crowd.histogram):
        return None
    found.add(
        identified(
            "near.ways",
            ways,
            f"of places {apart} B apart {ways} are served, one more is not, and fewer at no "
            "other distance",
            evidence,
        )
    )
    line = yield from _line(found, scale, ways, apart)
    yield from _prefetch(found, scale, ways, apart, line)
    yield from _write(found, scale, ways, apart)
    return True


def _line(found: Findings, scale: _Scale, ways: int, apart: int) -> Study[int | None]:
    before: list[str] = []
    for shift in _LINES:
        seen = yield from _try(scale, 2 * ways, apart, ways, shift)
        if not seen.misses:
            if not before:
                break
            reason = f"places moved by {shift} B no longer conflict, by {shift // 2} B they do"
            found.add(identified("near.line", shift, reason, [before[-1], seen.id]))
            return shift
        before.append(seen.id)
    if before:
        found.lack(("near.line",), f"moving a place by {_LINES[-1]} B does not end a conflict")
        return None
    # Requests are lines of 64 B, so nothing is shorter.
    reason = f"places moved by {LINE} B no longer conflict"
    found.add(identified("near.line", LINE, reason, [seen.id]))
    return LINE


def _prefetch(
    found: Findings, scale: _Scale, ways: int, apart: int, line: int | None
) -> Study[None]:
    name = "near.prefetch"
    if line is None:
        return found.lack((name,), "needs the length of a line")
    params = {"places": 2 * ways + 2, "distance": apart, "beside": line}
    seen = yield Request(PROBER, "beside", params, {"rounds": (6, 12)})
    assert seen.histogram is not None
    share = slower(seen.histogram, scale.slow_ns) / size(seen.histogram)
    served = 100 * (1 - share)
    reason = f"of lines whose neighbour before was read, and missed, {served:.0f} % are served"
    if share < 0.25:
        found.add(identified(name, "yes", reason, [seen.id]))
    elif share > 0.4:
        found.add(identified(name, "no", reason, [seen.id]))
    else:
        found.lack((name,), reason, [seen.id])
    return None


def _write(found: Findings, scale: _Scale, ways: int, apart: int) -> Study[None]:
    """Stores to one line: each goes on to far memory, or none while the line stays.

    No access waits for a store that stays: one after another takes less than a read that is served,
    however many ways are looked up for it. Stores that conflict tell what sending a line to far
    memory takes. By themselves they do not tell which it is: long lines are fetched besides.
    """
    ns, ids = [], []
    for places in (1, 2 * ways):
        params = {"places": places, "distance": apart}
        seen = yield Request(PROBER, "stores", params, {"stores": _STORES})
        assert seen.ns_per_access is not None
        ns.append(seen.ns_per_access)
        ids.append(seen.id)
    one, many = ns
    names = ("near.write", "near.write_back")
    reason = (
        f"stores to one line take {one:.4g} ns, to {2 * ways} that conflict {many:.4g} ns, a read "
        f"that is served {scale.hit_ns:.4g} ns"
    )
    if one > scale.hit_ns or one > 0.8 * many:
        found.add(identified(names[0], "through", reason, ids))
        found.lack(names[1:], f"no line is evicted changed: {reason}", ids)
    else:
        found.add(
            identified(names[0], "back", reason, ids),
            identified(names[1], round(many - one, 1), reason, ids),
        )
