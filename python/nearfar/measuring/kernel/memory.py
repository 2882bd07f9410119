"""Memory that the Linux module measures, and its measurements."""

from __future__ import annotations

import ctypes
import errno
import os
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from nearfar.errors import InputError
from nearfar.measuring import machine
from nearfar.measuring.kernel import protocol
from nearfar.measuring.kernel.device import Device
from nearfar.measuring.kernel.target import Kernel

_LINE = 64
_PAGE = 4096
_WRITE = 256  # bytes of an overwrite's
_DAX_PAGE = 2 << 20
_ROOM = 1 << 14  # timings that a chase has room for at least
_STREAM_ROOM = 1 << 16  # and any other: 6.5 s of timings as long as interrupts may be off

Data = dict[str, Any]


def place(target: Kernel, size: int, *, small: bool = False) -> protocol.Place:
    """`size` bytes of what a target names; 0: all of a reserved range."""
    asked = protocol.Place(protocol=protocol.PROTOCOL, node=-1)
    asked.flags = protocol.SMALL_PAGES if small else 0
    page = _DAX_PAGE if target.file is not None else _PAGE
    asked.bytes = -(-size // page) * page
    if target.file is not None:
        asked.kind = protocol.DAX
    elif target.range is not None:
        asked.kind, asked.physical = protocol.RANGE, target.range
    else:
        asked.kind = protocol.ALLOCATE
        asked.node = -1 if target.node is None else target.node
    return asked


class KernelMemory:
    """One open device with its memory; see `nearfar._core.HostMemory`.

    Raises InputError if the module refuses the memory.
    """

    def __init__(self, device: Device, target: Kernel, asked: protocol.Place) -> None:
        self._device = device
        meanings = _refusals(target, asked)
        if target.file is None:
            device.ask(asked, meanings)
        else:
            descriptor = _opened(target.file)
            try:
                asked.fd = descriptor
                device.ask(asked, meanings)
            finally:
                os.close(descriptor)
        self._bytes = int(asked.bytes)

    def size(self) -> int:
        """Bytes."""
        return self._bytes

    def synchronous(self) -> bool:
        """Stores reach the device without a page cache."""
        return True

    def chase(self, request: SimpleNamespace) -> Data:
        """As `HostMemory.chase`."""
        share = _footprint(request)
        flags = protocol.REPEAT if request.repeat else 0
        flags |= protocol.READ_BACK if request.read_after_write else 0
        flags |= protocol.TABLE if request.successors == "table" else 0

        def asked() -> protocol.Chase:
            return protocol.Chase(
                region=request.region,
                block=request.block,
                stride=request.stride,
                lines=request.lines,
                least_chunks=request.least_chunks,
                seed=request.seed,
                op=_index("op", request.op, protocol.OPS),
                fence=_index("fence-kind", request.fence_kind, protocol.FENCES),
                fence_place=protocol.FENCE_PLACES.index(request.fence),
                flags=flags,
            )

        return self._together(request.cpus, [asked() for _ in request.cpus], share)

    def stream(self, request: SimpleNamespace) -> Data:
        """As `HostMemory.stream`."""
        seeds = iter(range(request.seed, request.seed + len(request.cpus)))

        def asked() -> protocol.Stream:
            made = protocol.Stream(
                access=request.access,
                stride=request.stride,
                area=request.area,
                fence_every=request.fence_every,
                lines=request.lines,
                seed=next(seeds),
                op=_index("op", request.op, protocol.OPS),
                fence=_index("fence-kind", request.fence_kind, protocol.FENCES),
                reads_percent=request.reads_percent,
            )
            for line, field, flag in (
                (request.value, made.value, protocol.HAS_VALUE),
                (request.held, made.held, protocol.HAS_HELD),
            ):
                if line:
                    field[:] = line
                    made.flags |= flag
            return made

        return self._together(request.cpus, [asked() for _ in request.cpus], request.area)

    def contention(self, request: SimpleNamespace) -> Data:
        """As `HostMemory.contention`."""
        others = [
            protocol.Contention(
                role=protocol.CHASES if request.chases else protocol.DISTURBS,
                op=_index("op", request.op, protocol.OPS),
                pause_ps=_pause_ps("delay", request.delay_ns),
                seed=request.seed + member,
            )
            for member in range(1, len(request.cpus))
        ]
        data = self._beside(request, others)
        rates = sum(one.lines / self._device.ns(one.cycles) for one in others)
        return {**data, "other_gb_per_s": _LINE * rates}

    def loaded(self, request: SimpleNamespace) -> Data:
        """As `HostMemory.loaded`."""
        others = [
            protocol.Contention(
                role=protocol.GENERATES,
                op=_index("op", request.op, protocol.OPS),
                pause_ps=_pause_ps("pause", request.pause_ns),
                stores=request.stores,
                accesses=request.accesses,
            )
            for _ in request.cpus[1:]
        ]
        data = self._beside(request, others)
        stored = sum(one.stored / self._device.ns(one.cycles) for one in others)
        lines = sum(one.lines / self._device.ns(one.cycles) for one in others)
        return {**data, "loads_per_ns": lines - stored, "stores_per_ns": stored}

    def overwrite(self, request: SimpleNamespace) -> Data:
        """As `HostMemory.overwrite`; calls are cut where a round of the region ends."""
        round_of = request.region // _WRITE
        most = max(protocol.MOST_CHUNKS // round_of, 1) * round_of
        ns: list[float] = []
        stolen = _stolen_ns(request.cpu)
        while len(ns) < request.writes:
            asked = protocol.Overwrite(
                region=request.region,
                writes=min(request.writes - len(ns), most),
                op=_index("op", request.op, protocol.OPS),
                fence=_index("fence-kind", request.fence_kind, protocol.FENCES),
            )
            ns += self._run(asked, request.cpu, room=int(asked.writes))["ns"]
        return {"ns": ns, "nivcsw": 0, "steal_ns": _stolen_ns(request.cpu) - stolen}

    def walk(self, request: SimpleNamespace) -> Data:
        """As `HostMemory.walk`."""
        offsets = (ctypes.c_uint64 * len(request.offsets))(*request.offsets)
        asked = protocol.Follow(
            offsets=ctypes.addressof(offsets),
            count=len(request.offsets),
            least_chunks=request.chunks,
            warm_passes=request.warm_passes,
            changes=int(request.changes),
        )
        asked.run.target_ns = min(int(request.chunk_ns), 100_000)
        return self._alone(asked, request)

    def drop(self, request: SimpleNamespace) -> Data:
        """As `HostMemory.drop`."""
        asked = protocol.Drop(
            lines=request.lines, least_chunks=request.chunks, changes=int(request.changes)
        )
        return self._alone(asked, request)

    def _alone(self, asked: protocol.Measurement, request: SimpleNamespace) -> Data:
        stolen = _stolen_ns(request.cpu)
        data = self._run(asked, request.cpu, room=request.chunks)
        return {**data, "nivcsw": 0, "steal_ns": _stolen_ns(request.cpu) - stolen}

    def _beside(self, request: SimpleNamespace, others: list[protocol.Contention]) -> Data:
        """The timings of a reader on the first processor; what the others did is in their calls."""
        reader = protocol.Contention(role=protocol.READS, reads=request.reads, seed=request.seed)
        calls = [reader, *others]
        for one in calls:
            one.area = request.area
        data = self._together(request.cpus, calls, request.area)
        timings = data.pop("threads")[0]
        return {**data, **timings}

    def _together(
        self, cpus: Sequence[int], calls: Sequence[protocol.Measurement], share: int
    ) -> Data:
        """A call on each processor, all beginning together; the calling thread makes the first."""
        stolen = sum(map(_stolen_ns, cpus))
        found: list[Data | BaseException | None] = [None] * len(cpus)

        def run(member: int) -> None:
            try:
                base = member * share
                found[member] = self._run(calls[member], cpus[member], len(cpus), base)
            except BaseException as error:  # raised again below
                found[member] = error

        threads = [threading.Thread(target=run, args=(member,)) for member in range(1, len(cpus))]
        for thread in threads:
            thread.start()
        run(0)
        for thread in threads:
            thread.join()
        for one in found:
            if isinstance(one, BaseException):
                raise one
        stolen = sum(map(_stolen_ns, cpus)) - stolen
        return {"threads": found, "nivcsw": 0, "steal_ns": stolen}

    def _run(
        self,
        asked: protocol.Measurement,
        cpu: int,
        members: int = 1,
        base: int = 0,
        room: int = 0,
    ) -> Data:
        """The timings of one call, made on processor `cpu`."""
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {cpu})
        try:
            return self._timings(asked, members, base, room or _room(asked))
        finally:
            os.sched_setaffinity(0, before)

    def _timings(self, asked: protocol.Measurement, members: int, base: int, room: int) -> Data:
        chunks = (protocol.Chunk * room)()
        run = asked.run
        run.protocol, run.members, run.base = protocol.PROTOCOL, members, base
        run.chunks, run.room, run.made = ctypes.addressof(chunks), room, 0
        full = f"more than {room} timings in one call; ask for fewer --lines"
        self._device.ask(asked, {**_RUN_MEANINGS, errno.ENOSPC: full})
        made = [chunks[i] for i in range(run.made)]
        return {
            "ns": [self._device.ns(one.cycles) for one in made],
            "lines": [one.lines for one in made],
            "at": [one.at for one in made],
        }


_RUN_MEANINGS = {
    errno.EBUSY: "the DAX device is in use: a process has mapped it since the measurement began",
    errno.ERANGE: "the pattern reaches beyond the memory",
}


def _room(asked: protocol.Measurement) -> int:
    """Timings that a call has room for."""
    if isinstance(asked, protocol.Chase):
        passes = max(-(-asked.lines * _LINE // asked.region), asked.least_chunks, 1)
        each = 2 * (asked.region // _LINE // 256 + 2)
        return int(min(max(passes * each, _ROOM), protocol.MOST_CHUNKS))
    if isinstance(asked, protocol.Contention) and asked.role != protocol.READS:
        return 1  # and none is made
    return _STREAM_ROOM


def _pause_ps(option: str, ns: float) -> int:
    ps = round(ns * 1000)
    if ps > protocol.MOST_PAUSE_PS:
        raise InputError(f"{option}: found {ns:g} ns, expected at most 1 s in the kernel")
    return ps


def _footprint(request: SimpleNamespace) -> int:
    span = request.region // request.block * request.stride
    regions = 1 if request.repeat else max(-(-request.lines * _LINE // request.region), 1)
    return int(span * regions)


def _index(option: str, name: str, known: Sequence[str]) -> int:
    if name not in known:
        raise InputError(f"{option}: unknown '{name}', expected one of {', '.join(known)}")
    return known.index(name)


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"{path}: {os.strerror(error.errno or 0)}") from None


def _refusals(target: Kernel, asked: protocol.Place) -> dict[int, str]:
    spec, size = target.spec(), asked.bytes
    wanted = f"no {size} B" if size else "nothing"
    if target.file is not None:
        return {
            errno.EBUSY: f"{target.file} is in use: a process has mapped it",
            errno.ENODEV: f"{target.file} is no DAX device with one range of memory",
            errno.ENXIO: f"{target.file} has no {size} B",
        }
    if target.range is not None:
        return {
            errno.EPERM: f"the kernel's command line reserves {wanted} at {target.range:#x}; "
            f"boot with memmap=SIZE${target.range:#x}, and see /proc/iomem",
            errno.EBUSY: f"{spec}: the range is in use; /proc/iomem says by what",
        }
    return {
        errno.ENOMEM: f"found no {size} B of contiguous memory; a range that is reserved at boot "
        "or a DAX device has them",
        errno.E2BIG: f"{size} B are more than the {protocol.MOST_ALLOCATED} B that it allocates",
        errno.EINVAL: f"{spec}: this machine has no such node",
    }


def _stolen_ns(cpu: int) -> float:
    """Time that the hypervisor has taken from a processor since boot, in steps of a tick."""
    for line in (machine.text(machine.PROC / "stat") or "").splitlines():
        name, *fields = line.split()
        if name == f"cpu{cpu}" and len(fields) > 7:
            return int(fields[7]) * 1e9 / os.sysconf("SC_CLK_TCK")
    return 0.0
