"""What evicting a changed line costs over evicting a clean one.

Places that conflict are read in turn, more of them than a set holds, so that each read evicts
a line; then again with each line changed before the next read, so that what is evicted has to be
written back. What changing a line costs by itself is known from as many places as fit.

A write-back may well be over before a load waits for it. Whether changed lines are written
back at all is shown beside it: lines are thrown out by `clflush`, which waits for that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nearfar.inference.caches.plan import Experiment, chains
from nearfar.inference.noise import RESAMPLES, Floats, interval
from nearfar.results.findings import Finding, Observation, identified, not_identifiable

NAME = "cache.1.write_back"
DROP = "drop"  # observations of lines thrown out

_LEAST_SHARE = 0.05  # of a conflicting read: less does not matter
_CHUNK_NS = 20_000.0


def experiments(prober: str, ways: int, stride: int) -> list[Experiment]:
    """As many places as fit and twice as many, read, and read and changed."""
    return [
        Experiment(
            prober,
            "conflict",
            {"count": count, "stride": stride, "moved": 0, "shift": 0, "beside": 0},
            chunk_ns=_CHUNK_NS,
            changes=changes,
        )
        for count in (ways, _too_many(ways))
        for changes in (False, True)
    ]


def _too_many(ways: int) -> int:
    return 2 * ways + 2


def finding(observations: Sequence[Observation], prober: str, ways: int, stride: int) -> Finding:
    """The finding, from walks over sets of so many ways, `stride` bytes between their lines."""
    walks = [_walk(observations, prober, count, stride, changes)
             for count in (ways, _too_many(ways)) for changes in (False, True)]  # fmt: skip
    if any(one is None for one in walks):
        reason = "the walks only load: nothing that they evict was changed"
        return not_identifiable(NAME, reason, ())
    known = [one for one in walks if one is not None]
    samples = [np.array(one.samples, dtype=np.float64) for one in known]
    extra, low, high = _difference(samples)
    read = float(np.median(samples[2]))
    thrown, evidence = dropped(observations, prober)
    evidence = [*(one.id for one in known), *evidence]
    about = (
        f"reads that evict changed lines take {extra:+.2f} ns ({low:+.2f} to {high:+.2f}) more "
        f"than the {read:.2f} ns of those that evict clean ones and the cost of changing{thrown}"
    )
    if low > 0 and extra > _LEAST_SHARE * read:
        return identified(NAME, round(extra, 3), about, evidence, (round(low, 3), round(high, 3)))
    reason = f"no more than noise: lines are written back while the next read waits; {about}"
    # A cost is not negative, whatever noise says.
    return not_identifiable(NAME, reason, evidence, (0.0, round(max(high, 0.0), 3)))


def _walk(
    observations: Sequence[Observation], prober: str, count: int, stride: int, changes: bool
) -> Observation | None:
    for one in chains(observations, prober, "conflict", changes=changes):
        params = one.pattern["order"]["params"]
        plain = not params["moved"] and not params["beside"]
        if plain and (params["count"], params["stride"]) == (count, stride):
            return one
    return None


def _difference(samples: Sequence[Floats]) -> tuple[float, float, float]:
    """What changing adds where lines are evicted, beyond what it adds where they stay."""
    rng = np.random.default_rng(0)

    def of(drawn: Sequence[Floats]) -> float:
        fits, fits_changed, evicts, evicts_changed = (float(np.median(one)) for one in drawn)
        return (evicts_changed - evicts) - (fits_changed - fits)

    outcomes = [of([rng.choice(one, len(one)) for one in samples]) for _ in range(RESAMPLES)]
    return of(samples), *interval(outcomes)


def dropped(observations: Sequence[Observation], prober: str) -> tuple[str, list[str]]:
    """What throwing out a changed line takes longer, in words, and the evidence."""
    seen = [one for one in observations if one.prober == prober and one.pattern["kind"] == DROP]
    changed, clean = ([one for one in seen if one.pattern["changes"] == it] for it in (True, False))
    if not changed or not clean:
        return "", []
    times = [np.array(one[0].samples, dtype=np.float64) for one in (changed, clean)]
    more = float(np.median(times[0]) - np.median(times[1]))
    words = f"; thrown out by clflush, a changed line takes {more:+.1f} ns more than a clean one"
    apart = "" if np.min(times[0]) > np.max(times[1]) else ", no more than noise"
    return words + apart, [changed[0].id, clean[0].id]
