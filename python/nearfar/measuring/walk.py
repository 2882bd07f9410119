"""Dependent loads at chosen addresses of this machine's memory.

What a pattern cannot ask for, a prober of ways, sets or translation can: exactly these lines,
in exactly this order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.measuring import machine
from nearfar.measuring.chunks import low_quantile
from nearfar.measuring.host.core import HostCore, load_host_core, map_memory
from nearfar.measuring.host.target import Host, parse_host


@dataclass(frozen=True)
class Walk:
    """Timings of one walk: ns a load in each chunk, and what disturbed it."""

    chunk_ns_per_load: tuple[float, ...]
    nivcsw: int
    steal_ns: float

    @property
    def ns_per_load(self) -> float:
        """What an undisturbed load takes: the tenth percentile of the chunks."""
        return low_quantile(self.chunk_ns_per_load)


class WalkMemory:
    """`size` bytes of a host target, mapped until it is deleted; each page is there.

    A new one for every repetition gets other physical pages, which is what a prober wants
    to average over. The base is aligned to 2 MiB whatever the pages. Raises InputError as
    `measure` does.
    """

    def __init__(
        self, target: str | Host, size: int, *, core: HostCore | None = None, cpu: int | None = None
    ) -> None:
        host = parse_host(target) if isinstance(target, str) else target
        self.size = size
        self._cpu = machine.processors()[0] if cpu is None else cpu
        self._core = core or host.module() or load_host_core()
        self._memory = map_memory(self._core, host, size)

    def walk(
        self,
        offsets: Sequence[int],
        *,
        chunks: int = 32,
        chunk_ns: float = 50_000.0,
        warm_passes: int = 2,
    ) -> Walk:
        """Load from `offsets` (bytes, multiples of 8) in the order given, round and round.

        The chain is written first, so its lines are in the caches as far as they fit; then
        `warm_passes` rounds go by untimed, and `chunks` chunks of about `chunk_ns` are timed.
        No chunk need end where a round does.
        """
        data = self._memory.walk(
            self._core.WalkRequest(
                offsets=list(offsets),
                chunks=chunks,
                chunk_ns=chunk_ns,
                warm_passes=warm_passes,
                cpu=self._cpu,
            )
        )
        per_load = (ns / loads for ns, loads in zip(data["ns"], data["lines"], strict=True))
        return Walk(tuple(per_load), data["nivcsw"], data["steal_ns"])
