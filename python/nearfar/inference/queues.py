"""The write queues: write pending queue in the controller, load-store queue on the DIMM.

A store is done when the write pending queue has it. From there lines move to the load-store
queue as it has room, and a line keeps its place there until it is written.

* With both queues full, a load of a line stored a moment ago is answered by the controller
  itself, faster than anything on the DIMM could, exactly while the line waits in the
  write pending queue.
* With both full, one store is accepted for each line written. So when writes suddenly slow
  down, the stores feel it as many stores later as there are lines in both queues. Writes to
  one line again and again are slower than writes to different blocks, from the second on.
* A store, a fence, a pause: if the fence drained the load-store queue, a load of the line is
  served by the buffer behind it, else by the queue, and those take different times.
"""

from __future__ import annotations

import numpy as np

from nearfar.inference.cases import NO_WAITING
from nearfar.inference.level import Structure
from nearfar.inference.orders import LINE, Spread
from nearfar.inference.study import Findings, MissingError, Request, Study
from nearfar.results.findings import Observation, identified

PROBER = "queues"

_STORES = 600  # more than both queues together hold
_SAME = 400
_LEADS = (600, 605, 611, 618, 626, 633, 641)  # stores to different blocks before those
_FURTHER = (0, 256, 1024)  # steps that may spread different blocks better over the media
_AGREE = 4  # of these have to tell the same
_MOST_WPQ = 64
_CONFIRM = 3  # lines beyond the write pending queue that have to look different
_WRITTEN_AS_ONE = 4096
_PAUSE_NS = 1_000
_ALIKE = 0.05  # relative difference of latencies that are the same
_SLOWER = 1.15  # by how much writes of one line have to be slower to be noticed
_STRAY = 0.02  # of the stores may look as if they were on the other side


def study(found: Findings, spread: Spread, structure: Structure) -> Study[None]:
    """Finds `wpq.lines`, `lsq.lines` and `fence.drains_lsq`."""
    # Further than whatever is written as one, and no power of two, so that neighbours differ
    # in the part of the media that they keep busy.
    step = max(structure.levels[0].entry if structure.levels else 0, _WRITTEN_AS_ONE) + 256
    pending = yield from _pending(found, spread, step)
    yield from _both(found, spread, step, pending)
    yield from _fence(found, spread, structure)


def _pending(found: Findings, spread: Spread, step: int) -> Study[tuple[int, list[str]]]:
    """Lines of the write pending queue; 0 when they cannot be told."""
    names = ["wpq.lines"]
    times: list[float] = []
    evidence: list[str] = []
    try:
        while len(times) < _MOST_WPQ and (
            len(times) <= _CONFIRM or any(_alike(time, times[0]) for time in times[-_CONFIRM:])
        ):
            params = {"base": 0, "step": step, "stores": _STORES, "back": len(times)}
            seen = yield Request(PROBER, "backlog", params, {}, spread)
            assert seen.samples is not None
            times.append(float(seen.samples[0]))
            evidence.append(seen.id)
    except MissingError:
        found.lack(names, "loads of lines just stored were not made", evidence)
        return 0, evidence
    lines = sum(1 for time in times if _alike(time, times[0]))
    forwarded, behind = times[:lines], times[lines:]
    evidence = [evidence[lines - 1], evidence[min(lines, len(evidence) - 1)]]
    if not behind or max(forwarded) * (1 + _ALIKE) >= min(behind):
        found.lack(
            names, "no line just stored is read back faster than those stored before", evidence
        )
        return 0, evidence
    found.add(
        identified(
            "wpq.lines",
            lines,
            f"with the queues full, the last {lines} lines stored are read back in "
            f"{times[0]:.4g} ns, the one before them takes {behind[0]:.4g} ns",
            evidence,
        )
    )
    return lines, evidence


def _alike(a: float, b: float) -> bool:
    return abs(a - b) <= _ALIKE * max(a, b)


def _both(
    found: Findings, spread: Spread, step: int, pending: tuple[int, list[str]]
) -> Study[None]:
    """Lines in both queues; what the write pending queue does not hold, the other does."""
    names = ["lsq.lines"]
    lines, evidence = pending
    try:
        for further in _FURTHER:
            lags = []
            for lead in _LEADS:
                params = {"base": 0, "step": step + further, "lead": lead, "same": _SAME}
                seen = yield Request(PROBER, "stumble", params, {}, spread)
                evidence = [*evidence, seen.id]
                lags.append(_lag(seen))
            if any(lag is not None for lag in lags):
                break
    except MissingError:
        found.lack(names, "the experiment with stores to one line was not made", evidence)
        return
    # Where the line keeps a part of the media busy that a store before it had just used, its
    # first write is late too; most places of the line have no such neighbour.
    both = max(lags, key=lambda lag: (lag is not None, lags.count(lag)))
    if both is None or lags.count(both) < _AGREE:
        found.lack(
            names,
            "stores to one line are not slower than stores to different blocks, so nothing "
            "shows how late they feel it",
            evidence,
        )
    elif lines == 0:
        found.lack(
            names,
            f"both queues hold {both} lines; how many of them the write pending queue holds is "
            "not known",
            evidence,
        )
    else:
        found.add(
            identified(
                "lsq.lines",
                both - lines,
                f"stores slow down {both} stores after writes do; {lines} of those lines wait "
                "in the write pending queue",
                evidence,
            )
        )


def _lag(seen: Observation) -> int | None:
    """How many stores after the second to one line their pace changes; None if it does not."""
    times = np.array(seen.samples)
    lead = seen.pattern["order"]["params"]["lead"]
    before, after = times[lead // 2 : lead], times[-_SAME // 4 :]
    if np.median(after) < _SLOWER * np.median(before):
        return None
    limit = (np.median(before) + np.median(after)) / 2
    slow = times[lead:] > limit
    # The change is where most are on their right sides: fast before it, slow after.
    wrong = np.cumsum(slow) - slow + np.cumsum(~slow[::-1])[::-1]
    at = int(np.argmin(wrong))
    if wrong[at] > _STRAY * len(slow) or np.mean(before > limit) > _STRAY:
        return None
    return at - 1


def _fence(found: Findings, spread: Spread, structure: Structure) -> Study[None]:
    names = ["fence.drains_lsq"]
    latency: dict[str, float] = {}
    evidence: list[str] = []
    try:
        for fence in ("none", "sfence", "mfence"):
            params = {
                "base": 0,
                "step": LINE,
                "lines": 1,  # nothing but a fence makes one line leave
                "fence": fence,
                "delay_ns": _PAUSE_NS,
            }
            seen = yield Request(PROBER, "rest", params, {}, spread)
            latency[fence] = float(np.median(np.array(seen.samples)))
            evidence.append(seen.id)
    except MissingError:
        found.lack(names, "the experiment with fences was not made", evidence)
        return
    waiting, buffered = latency["none"], structure.levels[0].latency if structure.levels else 0.0
    if not structure.levels:
        found.lack(names, "no buffer is known that a line could have been drained into", evidence)
    elif _alike(waiting, buffered):
        found.lack(names, NO_WAITING, evidence)
    elif _alike(latency["mfence"], waiting):
        found.add(
            identified(
                "fence.drains_lsq",
                "no",
                f"after an mfence and a pause, lines are still read back in {waiting:.4g} ns",
                evidence,
            )
        )
    elif _alike(latency["mfence"], buffered):
        sfence = "is not" if _alike(latency["sfence"], waiting) else "is"
        found.add(
            identified(
                "fence.drains_lsq",
                "yes",
                f"after an mfence and a pause, lines are read back from the buffer in "
                f"{buffered:.4g} ns, not from the queue in {waiting:.4g} ns; the queue {sfence} "
                "drained by an sfence",
                evidence,
            )
        )
    else:
        found.lack(names, "after an mfence, lines are read back from elsewhere", evidence)
