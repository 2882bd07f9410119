"""What the module is asked for: the core's requests, as far as it takes them, without the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

# Fields and defaults of the requests of core/probe.
CHASE: Mapping[str, Any] = {
    "region": 0,
    "block": 64,
    "stride": 64,
    "op": "ntload",
    "read_after_write": False,
    "repeat": False,
    "fence": "region",
    "fence_kind": "mfence",
    "successors": "lines",
    "lines": 0,
    "least_chunks": 0,
    "seed": 1,
    "cpus": (),
}
OVERWRITE: Mapping[str, Any] = {
    "region": 256,
    "writes": 0,
    "op": "ntstore",
    "fence_kind": "mfence",
    "cpu": 0,
}
STREAM: Mapping[str, Any] = {
    "op": "load",
    "access": 64,
    "stride": 0,
    "area": 0,
    "reads_percent": 0,
    "fence_every": 0,
    "fence_kind": "sfence",
    "value": b"",
    "held": b"",
    "lines": 0,
    "seed": 1,
    "cpus": (),
}
CONTENTION: Mapping[str, Any] = {
    "chases": False,
    "op": "ntstore",
    "delay_ns": 0.0,
    "area": 0,
    "reads": 0,
    "seed": 1,
    "cpus": (),
}
LOADED: Mapping[str, Any] = {
    "op": "store",
    "stores": 0,
    "accesses": 1,
    "pause_ns": 0.0,
    "area": 0,
    "reads": 0,
    "seed": 1,
    "cpus": (),
}
WALK: Mapping[str, Any] = {
    "offsets": (),
    "changes": False,
    "chunks": 32,
    "chunk_ns": 50_000.0,
    "warm_passes": 2,
    "cpu": 0,
}
DROP: Mapping[str, Any] = {"lines": 64, "changes": False, "chunks": 64, "cpu": 0}


class Request:
    """Makes requests of one kind; see `nearfar.measuring.core.Struct`."""

    def __init__(self, defaults: Mapping[str, Any]) -> None:
        self._defaults = defaults

    def fields(self) -> Sequence[str]:
        """The names of its fields."""
        return list(self._defaults)

    def __call__(self, **values: Any) -> SimpleNamespace:
        assert set(values) <= set(self._defaults)
        return SimpleNamespace(**{**self._defaults, **values})
