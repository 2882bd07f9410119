"""A recorded program on two tiers: what each replacement policy would have done."""

from __future__ import annotations

import array
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.errors import InputError, check_one_of
from nearfar.measuring.quantity import parse_size
from nearfar.measuring.run import Progress
from nearfar.results.faults import MAGIC, POLICIES, Event, Faults, parse_faults
from nearfar.results.tier_replay import NearSize, PolicyMisses, TierReplayResult
from nearfar.simulate.traces.file import peeked, refuse_others, shown
from nearfar.simulate.traces.formats import readable
from nearfar.simulate.traces.unpack import exact_end, pieces

if TYPE_CHECKING:
    from nearfar._core import PageVisits

PAGE = 4096  # bytes

# Reading and clearing the access bit of a page by clear_refs and smaps took 100 to 170 ns on
# Linux 6.18 with mappings of 2 MiB: the middle of that.
SCAN_NS_PER_PAGE = 135.0

# The share of near memory that a full limbo takes.
LIMBO_SHARE = 16

# In the words that `PageVisits.add` takes.
_WRITES, _RELEASES = 1, 2

_PERCENT = re.compile(r"(\d+(?:\.\d*)?|\.\d+) ?%", re.ASCII)


def tier_replay(
    trace: str | Path,
    *,
    policies: Sequence[str] = POLICIES,
    near: Sequence[str] = ("5%", "10%", "25%", "50%"),
    scans: bool = True,
    format: str = "auto",
    base: int | None = None,
    progress: Progress | None = None,
) -> TierReplayResult:
    """Play the pages of a trace through each of `policies`, for each size of near memory.

    The trace may be a record of faults by `tier run --record-faults`, whose visits are the touches
    that faulted, and the pages that came in beside those. A size is in bytes ("16 MiB") or of the
    pages that the trace touches ("25%"). Policies are told what access bits say as often as they
    ask for it, or never without `scans`. Raises InputError for a trace that cannot be read or has
    no access, an unknown policy, and a size below a page.
    """
    from nearfar import __version__, _core

    check_one_of("format", format, readable())
    for policy in policies:
        check_one_of("--policy", policy, POLICIES)
    for size in near:
        near_pages(size, 1 << 40)  # refused before the trace is read
    start, stream = peeked(pieces(trace, progress), len(MAGIC))
    if format == "auto" and start.startswith(MAGIC):
        visits, ahead = _faulted(parse_faults(b"".join(stream), trace))
        format_name = "faults"
    else:
        ahead = 0
        refuse_others(trace, start, format)
        visits = _core.PageVisits(name=shown(trace), format=format, base=base or 0)
        with exact_end(visits):
            for piece in stream:
                visits.feed(piece)
        visits.finish()
        format_name = visits.format()
    if visits.pages() == 0:
        raise InputError(f"{trace}: found no memory access, expected at least one")
    return TierReplayResult(
        version=__version__,
        file=Path(trace).name,
        format=format_name,
        page_bytes=PAGE,
        pages=visits.pages(),
        accesses=visits.accesses(),
        visits=visits.visits(),
        ahead=ahead,
        sizes=tuple(
            try_size(visits, near_pages(size, visits.pages()), policies, scans=scans)
            for size in near
        ),
        without_scans=not scans,
    )


def _faulted(faults: Faults) -> tuple[PageVisits, int]:
    """The visits and releases of a record of faults, and how many of the visits are of pages that
    came in beside one that was touched. It tells neither whether these were touched nor what was
    written: all are taken for writes.
    """
    from nearfar import _core

    visits = _core.PageVisits()
    ahead = 0
    words = array.array("I")
    for event, page in faults.visits():
        words.append(page << 2 | (_RELEASES if event == Event.RELEASED else _WRITES))
        ahead += event == Event.AHEAD
    visits.add(words.tobytes())
    return visits, ahead


def near_pages(size: str, footprint: int) -> int:
    """`size` in whole pages; a share is of `footprint` pages. Raises InputError below one."""
    percent = _PERCENT.fullmatch(size.strip())
    if percent:
        found = int(Fraction(percent[1]) * footprint / 100)
    else:
        found = parse_size("--near", size) // PAGE
    if found < 1:
        of = f" of {footprint} pages" if percent else ""
        raise InputError(f"--near: found '{size}'{of}, expected at least a page of {PAGE} B")
    return found


def try_size(
    visits: PageVisits, near: int, policies: Sequence[str], *, scans: bool = True
) -> NearSize:
    """Every policy with `near` pages, and the bounds."""
    # More near memory than pages changes nothing, and has no limit.
    frames = min(near, visits.pages())
    limbo = frames // LIMBO_SHARE
    return NearSize(
        near_bytes=near * PAGE,
        near_pages=near,
        limbo_pages=limbo,
        belady_misses=visits.belady(frames),
        static_misses=visits.best_static(frames),
        policies=tuple(_paged(visits, policy, frames, limbo, scans) for policy in policies),
    )


def _paged(visits: PageVisits, policy: str, near: int, limbo: int, scans: bool) -> PolicyMisses:
    counts = visits.replay(policy=policy, near=near, limbo=limbo, scans=scans)
    return PolicyMisses(policy=policy, scan_ns=counts["pages_scanned"] * SCAN_NS_PER_PAGE, **counts)
