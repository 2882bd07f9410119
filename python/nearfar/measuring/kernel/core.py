"""The Linux module in the place of the compiled core: the same requests, the same answers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from nearfar.errors import InputError
from nearfar.measuring import machine
from nearfar.measuring.kernel import protocol, requests
from nearfar.measuring.kernel.device import Device
from nearfar.measuring.kernel.memory import KernelMemory, place
from nearfar.measuring.kernel.target import Kernel

if TYPE_CHECKING:
    from nearfar._core import HostMemory
    from nearfar.measuring.host.core import HostCore

_SHARE = 4  # of free memory that is gathered at most: one part in so many


class KernelCore:
    """Measures what a `kernel` target names; see `nearfar.measuring.host.core.HostCore`.

    Raises InputError if the module cannot be used.
    """

    ChaseRequest = requests.Request(requests.CHASE)
    OverwriteRequest = requests.Request(requests.OVERWRITE)
    StreamRequest = requests.Request(requests.STREAM)
    ContentionRequest = requests.Request(requests.CONTENTION)
    LoadedRequest = requests.Request(requests.LOADED)
    WalkRequest = requests.Request(requests.WALK)
    DropRequest = requests.Request(requests.DROP)

    def __init__(self, target: Kernel, device: type[Device] = Device) -> None:
        self._target = target
        self._device = device
        self._info = device().info

    def HostMemory(  # noqa: N802 (as the core's class is called)
        self, bytes: int, *, pages: str, path: str, destructive: bool, **_: Any
    ) -> HostMemory:
        """`bytes` of what the target names, which has its node, on `pages`."""
        self._check_destructive(path, destructive)
        if pages not in ("2MiB", "4KiB"):
            raise InputError(f"kernel: found pages '{pages}', expected 2MiB or 4KiB")
        if pages == "4KiB" and self._target.range is not None:
            raise InputError(f"target {self._target.spec()}: a range has no pages of {pages}")
        asked = place(self._target, bytes, small=pages == "4KiB")
        return cast("HostMemory", KernelMemory(self._device(), self._target, asked))

    @property
    def CoreLoopRequest(self) -> Any:  # noqa: N802
        raise InputError("core: its loops measure the processor, not memory; probe host")

    def host_capacity(self, path: str, *, destructive: bool) -> int:
        """Bytes of the DAX device or the reserved range, or the most of contiguous memory."""
        self._check_destructive(path, destructive)
        if path:
            return dax_bytes(path)
        if self._target.range is not None:
            return KernelMemory(self._device(), self._target, place(self._target, 0)).size()
        return self._most_wanted()

    def obtainable(self) -> int:
        """Bytes that can be measured now: of contiguous memory, what the kernel finds by halves."""
        if self._target.file is not None or self._target.range is not None:
            return self._target.capacity(cast("HostCore", self))
        self._target.check_node()
        size = self._most_wanted()
        while size > protocol.MOST_BLOCK:
            try:
                KernelMemory(self._device(), self._target, place(self._target, size))
            except InputError:
                size //= 2
            else:
                break
        return size

    def _most_wanted(self) -> int:
        free = machine.free_memory(self._target.node) // _SHARE
        return min(protocol.MOST_ALLOCATED, 1 << max(free, 1).bit_length() - 1)

    def host_isa(self) -> Mapping[str, bool]:
        """What of the instructions the module may use."""
        found = {name: bool(self._info.features & bit) for name, bit in protocol.FEATURES.items()}
        return {**found, "rdtscp": True, "invariant_tsc": True}

    def host_clock(self) -> Mapping[str, float]:
        """The rate of its clock and what a reading costs."""
        khz = self._info.tsc_khz or 2_000_000
        costs = [cycles * 1e6 / khz for cycles in self._info.overhead]
        names = ("overhead_p10_ns", "overhead_p50_ns", "overhead_p90_ns")
        return {"tsc_hz": khz * 1e3, **dict(zip(names, costs, strict=True))}

    @staticmethod
    def _check_destructive(path: str, destructive: bool) -> None:
        if path and not destructive:
            raise InputError(
                f"{path}: it may hold something, which measuring destroys; "
                f"to allow that: --destructive {path}"
            )


def dax_bytes(path: str) -> int:
    """The size of a DAX device. Raises InputError for anything else."""
    try:
        number = Path(path).stat().st_rdev
    except OSError as error:
        raise InputError(f"{path}: {os.strerror(error.errno or 0)}") from None
    link = machine.SYS / f"dev/char/{os.major(number)}:{os.minor(number)}"
    size = machine.number(link / "size")
    if size is None:
        raise InputError(f"{path}: found no DAX device, expected one such as /dev/dax0.0")
    return size
