"""Chains of dependent loads through this machine's memory."""

from __future__ import annotations

from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING

from nearfar.inference.caches.orders import HUGE, LINE, Offsets
from nearfar.inference.caches.plan import Experiment
from nearfar.measuring import machine
from nearfar.measuring.chunks import low_quantile
from nearfar.measuring.host.core import HostCore, load_host_core, map_memory
from nearfar.measuring.host.target import Host
from nearfar.measuring.kernel.target import Kernel
from nearfar.probing.walk import Walked

if TYPE_CHECKING:
    from nearfar.measuring.host.core import HostMemory, WalkTimings

CHUNKS = 24
# The kernel hands pages that were given back out again at once: with some of them kept, the
# repetitions of a walk lie on others.
_KEPT, _KEPT_BYTES = 7, 8 << 20


class HostWalker:
    """This machine: anonymous memory, of a NUMA node if the host names one; or its file."""

    def __init__(self, host: Host | None = None, core: HostCore | None = None) -> None:
        self._host = host or Host()
        self._core = core or self._host.module() or load_host_core()
        self._cpu = machine.processors()[0]
        self._kept: deque[HostMemory] = deque(maxlen=_KEPT)

    @cached_property
    def memory_bytes(self) -> int:
        if isinstance(self._host, Kernel):
            return self._host.module().obtainable()
        return machine.free_memory(self._host.node) // 2

    def walk(self, chain: Offsets, asked: Experiment) -> Walked:
        # Whole huge pages even on small ones, so that both lie alike in virtual memory.
        memory = self._core.HostMemory(
            -(-asked.extent // HUGE) * HUGE,
            pages=asked.pages,
            node=-1 if self._host.node is None else self._host.node,
            path=self._host.file or "",
            destructive=self._host.may_destroy(),
        )
        if memory.size() <= _KEPT_BYTES and self._host.file is None:
            self._kept.append(memory)
        return _walked(
            memory.walk(
                self._core.WalkRequest(
                    offsets=chain.tolist(),
                    changes=asked.changes,
                    chunks=CHUNKS,
                    chunk_ns=asked.chunk_ns,
                    warm_passes=2,
                    cpu=self._cpu,
                )
            )
        )

    def drop(self, lines: int, changes: bool) -> Walked:
        """So many lines, loaded or also changed before, thrown out of the caches: ns a line."""
        memory = map_memory(self._core, self._host, lines * LINE)
        request = self._core.DropRequest(lines=lines, changes=changes, chunks=CHUNKS, cpu=self._cpu)
        return _walked(memory.drop(request))


def _walked(data: WalkTimings) -> Walked:
    times = [ns / loads for ns, loads in zip(data["ns"], data["lines"], strict=True)]
    return Walked(
        low_quantile(times), sum(data["lines"]), int(data["nivcsw"]), float(data["steal_ns"])
    )
