"""What measuring needs of the simulated machine; `nearfar._core` has it.

Written as protocols so that tests can stand something simpler in its place, and so that
nothing is loaded before it is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast


class Core(Protocol):
    """Plays a pattern on a model; see `_core.pyi` for units and errors."""

    def chase(
        self,
        settings: str,
        *,
        region: int,
        block: int,
        ops: Sequence[str],
        regions: str,
        fence: str,
        fence_kind: str,
        threads: int,
        lines: int,
        walk_lines: int,
        agent: str,
        outstanding: int,
        seed: int,
    ) -> Sequence[Mapping[str, Any]]: ...

    def overwrite(
        self, settings: str, *, region: int, writes: int, op: str, fence_kind: str, seed: int
    ) -> Mapping[str, Any]: ...

    def stream(
        self,
        settings: str,
        *,
        op: str,
        access: int,
        stride: int,
        threads: int,
        area: int,
        reads_percent: int,
        outstanding: int,
        fence_every: int,
        fence_kind: str,
        agent: str,
        lines: int,
        seed: int,
    ) -> Mapping[str, Any]: ...

    def contention(
        self,
        settings: str,
        *,
        other: str,
        area: int,
        reads: int,
        threads: int,
        delay_ps: int,
        seed: int,
    ) -> Mapping[str, Any]: ...


def load_core() -> Core:
    """The extension module, loaded when something is about to run."""
    from nearfar import _core

    return cast(Core, _core)
