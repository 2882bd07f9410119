"""Looks at a program on two tiers while it runs: what is near and far, and what was counted."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from nearfar.results.tier_run import TierSamples
from nearfar.tier import control

_FIRST_S = 0.02  # from one look to the next, at first
_MOST = 256  # looks that are kept: when there are more, every second one goes


@dataclass
class Samples:
    """What was seen. Short runs are looked at often, long ones less and less."""

    taken: list[tuple[float, control.Totals, dict[str, int]]] = field(default_factory=list)
    interval_s: float = _FIRST_S

    def add(self, at: float, memory: int) -> None:
        """Look once more at the tree whose control block `memory` is."""
        self.taken.append((at, control.totals(memory), control.counts(memory)))
        if len(self.taken) > _MOST:
            del self.taken[1::2]
            self.interval_s *= 2

    def result(self) -> TierSamples:
        """As a result has it."""
        return TierSamples(
            time_s=tuple(round(at, 4) for at, _, _ in self.taken),
            near_bytes=tuple(totals.near * control.PAGE for _, totals, _ in self.taken),
            far_bytes=tuple(totals.far * control.PAGE for _, totals, _ in self.taken),
            **{
                name: tuple(counts[name] for _, _, counts in self.taken)
                for name in ("faults", "copies_in", "copies_out", "stall_ns")
            },
        )


@contextlib.contextmanager
def sampled(memory: int) -> Iterator[Samples]:
    """Samples that grow while the block runs, by a thread; the last one is from its end."""
    samples, begun, over = Samples(), time.monotonic(), threading.Event()

    def look() -> None:
        while not over.wait(samples.interval_s):
            samples.add(time.monotonic() - begun, memory)

    samples.add(0.0, memory)
    thread = threading.Thread(target=look, name="samples", daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        over.set()
        thread.join()
        samples.add(time.monotonic() - begun, memory)
