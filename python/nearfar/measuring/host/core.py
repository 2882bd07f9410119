"""What measuring needs of the compiled kernels; `nearfar._core` has it.

A protocol, so that tests can stand something simpler in its place; nothing is loaded before
it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, cast

from nearfar.errors import NearfarError
from nearfar.measuring.core import Struct
from nearfar.measuring.host.target import Host

if TYPE_CHECKING:
    # What memory can do, its stub says.
    from nearfar._core import HostMemory as HostMemory
    from nearfar._core import WalkTimings as WalkTimings


class HostCore(Protocol):
    """The functions of the core that have to do with this machine."""

    def HostMemory(  # noqa: N802 (a class of the core)
        self, bytes: int, *, pages: str, node: int, path: str, destructive: bool
    ) -> HostMemory: ...
    @property
    def ChaseRequest(self) -> Struct: ...  # noqa: N802
    @property
    def OverwriteRequest(self) -> Struct: ...  # noqa: N802
    @property
    def StreamRequest(self) -> Struct: ...  # noqa: N802
    @property
    def ContentionRequest(self) -> Struct: ...  # noqa: N802
    @property
    def LoadedRequest(self) -> Struct: ...  # noqa: N802
    @property
    def WalkRequest(self) -> Struct: ...  # noqa: N802
    @property
    def DropRequest(self) -> Struct: ...  # noqa: N802
    @property
    def CoreLoopRequest(self) -> Struct: ...  # noqa: N802
    def host_capacity(self, path: str, *, destructive: bool) -> int: ...
    def host_isa(self) -> Mapping[str, bool]: ...
    def host_clock(self) -> Mapping[str, float]: ...
    def __hash__(self) -> int: ...  # what was found out with it is remembered


def load_host_core() -> HostCore:
    """The extension module. Raises NearfarError where it has no kernels."""
    from nearfar import _core

    if not hasattr(_core, "HostMemory"):
        raise NearfarError("measuring this machine needs an x86-64 processor; models do not")
    return cast(HostCore, _core)


def map_memory(core: HostCore, host: Host, size: int) -> HostMemory:
    """`size` bytes of what the target names. Raises InputError if the machine cannot give it."""
    return core.HostMemory(
        size,
        pages=host.pages,
        node=-1 if host.node is None else host.node,
        path=host.file or "",
        destructive=host.may_destroy(),
    )
