"""A stand-in for the kernels that measure this machine: simple figures, remembered questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from standin import Filled, Struct

CHUNK_LINES = 100
CHUNKS = 20
CLOCK = {
    "tsc_hz": 2e9,
    "overhead_p10_ns": 10.0,
    "overhead_p50_ns": 12.0,
    "overhead_p90_ns": 20.0,
}
ISA = {
    "sse41": True,
    "avx2": True,
    "avx512f": False,
    "clflushopt": True,
    "clwb": True,
    "rdtscp": True,
    "invariant_tsc": True,
    "hypervisor": False,
}


class HostStandIn:
    """Answers as `nearfar._core` does about this machine.

    Every line takes `ns` of the question; set it to make figures vary.
    """

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.mapped: list[dict[str, Any]] = []
        self.ns: Callable[[dict[str, Any]], float] = lambda _: 100.0
        self.moved: Callable[[dict[str, Any]], float] = lambda _: 5.0
        self.walk_ns: Callable[[str, int], float] = lambda _pages, _count: 1.0
        self.capacity = 1 << 30
        self.synchronous = True
        self.interrupt_at: int | None = None
        self.isa = dict(ISA)

    ChaseRequest = Struct("ChaseRequest")
    OverwriteRequest = Struct("OverwriteRequest")
    StreamRequest = Struct("StreamRequest")
    ContentionRequest = Struct("ContentionRequest")
    LoadedRequest = Struct("LoadedRequest")
    WalkRequest = Struct("WalkRequest")
    DropRequest = Struct("DropRequest")
    CoreLoopRequest = Struct("CoreLoopRequest")

    def HostMemory(self, bytes: int, **asked: Any) -> _Memory:  # noqa: N802
        self.mapped.append({"bytes": bytes, **asked})
        return _Memory(self, asked)

    def host_capacity(self, path: str, *, destructive: bool) -> int:
        self.asked.append({"capacity of": path, "destructive": destructive})
        return self.capacity

    def host_isa(self) -> dict[str, bool]:
        return self.isa

    def host_clock(self) -> dict[str, float]:
        return CLOCK


class _Memory:
    def __init__(self, core: HostStandIn, mapped: dict[str, Any]) -> None:
        self._core = core
        self._mapped = mapped

    def synchronous(self) -> bool:
        return self._core.synchronous

    def chase(self, request: Filled) -> dict[str, Any]:
        return self._threads("chase", request.values)

    def stream(self, request: Filled) -> dict[str, Any]:
        return self._threads("stream", request.values)

    def contention(self, request: Filled) -> dict[str, Any]:
        moved = self._core.moved(dict(request.values))
        return {**self._answer("contention", request.values), "other_gb_per_s": moved, **_CALM}

    def loaded(self, request: Filled) -> dict[str, Any]:
        asked = dict(request.values)
        moved = self._core.moved(asked) if len(asked["cpus"]) > 1 else 0.0
        stores = asked["stores"] / asked["accesses"]
        rates = {"loads_per_ns": moved * (1 - stores), "stores_per_ns": moved * stores}
        return {**self._answer("loaded", asked), **rates, **_CALM}

    def drop(self, request: Filled) -> dict[str, Any]:
        return {**self._answer("drop", request.values), **_CALM}

    def core_loop(self, request: Filled) -> dict[str, Any]:
        return {**self._answer("core_loop", request.values), **_CALM}

    def overwrite(self, request: Filled) -> dict[str, Any]:
        self._note("overwrite", request.values)
        return {"ns": [100.0] * (request.values["writes"] - 1) + [60_000.0], **_CALM}

    def walk(self, request: Filled) -> dict[str, Any]:
        ns = self._core.walk_ns(self._mapped["pages"], len(request.values["offsets"]))
        return {**_chunks(ns), **_CALM}

    def _threads(self, kind: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        one = self._answer(kind, asked)
        return {"threads": [one for _ in asked["cpus"]], **_CALM}

    def _answer(self, kind: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        self._note(kind, asked)
        return _chunks(self._core.ns({**asked, "node": self._mapped["node"]}))

    def _note(self, kind: str, asked: Mapping[str, Any]) -> None:
        measured = [one for one in self._core.asked if "kind" in one]
        if self._core.interrupt_at == len(measured):
            raise KeyboardInterrupt
        self._core.asked.append({"kind": kind, **asked})


_CALM = {"nivcsw": 1, "steal_ns": 0.0}


def _chunks(ns: float) -> dict[str, list[Any]]:
    return {
        "ns": [ns * CHUNK_LINES] * CHUNKS,
        "lines": [CHUNK_LINES] * CHUNKS,
        "at": [0] * CHUNKS,
    }
