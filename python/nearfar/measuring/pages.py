"""Pages put to the test: are huge ones huge, and how many small ones does the TLB reach?

One load from each 4 KiB of a region, in random order. The lines are so few that all stay in
the L1 cache; what grows with their number is address translation. Huge pages that a hypervisor
has split behave as small ones do.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nearfar.errors import InputError
from nearfar.measuring.chunks import low_quantile
from nearfar.measuring.host.core import HostCore
from nearfar.measuring.quantity import LINE

if TYPE_CHECKING:
    from nearfar.measuring.host.core import HostMemory

PAGE = 4096
# So many lines fit into every L1 cache, and every first-level TLB has fewer entries: what
# these loads take more than a few of them is translation.
MANY_PAGES = 256
_COUNTS = (16, 24, 32, 48, 64, 96, 128, 192, MANY_PAGES)
_SLOWER = 1.25  # a look-up in the second-level TLB adds some 7 cycles to 4 or 5


@dataclass(frozen=True)
class PageFacts:
    """ns a load: over a few small pages, over MANY_PAGES small ones, and as many parts of huge
    ones. `reach`: the most small pages without translation showing.
    """

    few_ns: float
    small_ns: float
    huge_ns: float | None
    reach: int
    refusal: str | None  # why there were no huge pages

    @property
    def translation_shows(self) -> bool:
        """Whether small pages are slow enough to tell huge ones apart by."""
        return self.small_ns > _SLOWER * self.few_ns

    @property
    def huge_ones_are_whole(self) -> bool:
        """Whether translation costs less on huge pages than on small ones."""
        return self.huge_ns is not None and self.small_ns > _SLOWER * self.huge_ns


def measure_pages(core: HostCore, cpu: int) -> PageFacts:
    """Takes a few hundredths of a second."""
    small = _curve(core, _memory(core, "4KiB"), cpu)
    huge, refusal = None, None
    try:
        huge = _curve(core, _memory(core, "2MiB"), cpu)
    except InputError as error:
        refusal = str(error)
    few = small[_COUNTS[0]]
    return PageFacts(
        few_ns=few,
        small_ns=small[MANY_PAGES],
        huge_ns=None if huge is None else huge[MANY_PAGES],
        reach=max(count for count in _COUNTS if small[count] <= _SLOWER * few),
        refusal=refusal,
    )


def _memory(core: HostCore, pages: str) -> HostMemory:
    return core.HostMemory(MANY_PAGES * PAGE, pages=pages, node=-1, path="", destructive=False)


def _curve(core: HostCore, memory: HostMemory, cpu: int) -> dict[int, float]:
    """ns a load by number of pages."""
    found = {}
    for count in _COUNTS:
        # Which line of its page is random, so that the loads spread over the sets of the caches.
        rng = random.Random(count)
        offsets = [page * PAGE + LINE * rng.randrange(PAGE // LINE) for page in range(count)]
        rng.shuffle(offsets)
        request = core.WalkRequest(
            offsets=offsets, chunks=24, chunk_ns=50_000.0, warm_passes=2, cpu=cpu
        )
        data = memory.walk(request)
        found[count] = low_quantile(
            [ns / lines for ns, lines in zip(data["ns"], data["lines"], strict=True)]
        )
    return found
