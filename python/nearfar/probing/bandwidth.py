"""Bandwidth over threads, size and stride, mixtures, and latency under load."""

from __future__ import annotations

from nearfar.inference.bandwidth import PROBER, findings
from nearfar.measuring import Contention, Pattern, Stream
from nearfar.probing.points import Bounds, playing

__all__ = ["PROBER", "findings", "plan", "play"]

_SIZES = "64B,128B,256B,512B,1KiB,4KiB"
_FEW_SIZES = "64B,256B,1KiB,4KiB"
_STRIDES, _FEW_STRIDES = "512B,1KiB,4KiB", "512B,4KiB"
# The loaded-latency table: ns from one read of another thread to its next, and such threads.
_DELAYS, _FEW_DELAYS = (1600, 800, 400, 200, 100, 50, 25, 10, 0), (800, 200, 50, 0)
_INJECTORS = 3
_FEW = 2  # threads that read random places: enough to be limited by the memory
_MIX_THREADS = 4
_AREA, _HOST_AREA = 256 << 20, 64 << 20


def plan(bounds: Bounds) -> list[Pattern]:
    """Patterns of one prober, all independent of each other."""
    threads = bounds.threads_up_to(8 if bounds.quick else 16)
    # Every repetition on a real machine touches fresh memory, which takes longer than to use it.
    area = bounds.area(_HOST_AREA if bounds.host and bounds.quick else _AREA, max(threads))
    lines = 16384 if bounds.quick else 65536
    if bounds.host:
        lines = area // 64
    read, write = ("load", "ntstore") if bounds.host else ("ntload", "ntstore")
    ops = (read, write)
    few, mixed = min(_FEW, bounds.threads), min(_MIX_THREADS, bounds.threads)
    hasty = bounds.host and bounds.quick
    sizes, strides = (_FEW_SIZES, _FEW_STRIDES) if hasty else (_SIZES, _STRIDES)
    made: list[Pattern] = [
        Stream(op=ops, access="256B", threads=threads, area=area, lines=lines),
        Stream(op=ops, access=sizes, stride="random", threads=few, area=area, lines=lines),
        Stream(op=read, access="256B", stride=strides, threads=few, area=area, lines=lines),
    ]
    made += [
        Stream(op=write, reads=share, access="256B", threads=mixed, area=area, lines=lines)
        for share in ((50,) if hasty else (75, 50, 25))
    ]
    if not bounds.contends:
        return made
    reads = 20000 if bounds.host else 3000
    others = ("none", "load", "ntstore") if bounds.threads > 1 else ("none",)
    made += [Contention(other=other, reads=reads, area=area) for other in others]
    if bounds.threads > 1:
        delays = _FEW_DELAYS if bounds.quick else _DELAYS
        injectors = min(_INJECTORS, bounds.threads - 1)
        made.append(
            Contention(other="ntload", threads=injectors, delay=delays, reads=reads, area=area)
        )
    return made


play = playing(PROBER, plan)
