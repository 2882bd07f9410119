"""The circumstances of a measurement on this machine, as its result records them."""

from __future__ import annotations

from nearfar.measuring import machine
from nearfar.measuring.conditions import BAD, OK, preconditions, timer_text
from nearfar.measuring.host.core import HostCore
from nearfar.measuring.host.target import Host
from nearfar.measuring.kernel.target import Kernel
from nearfar.results import Environment, Precondition


def host_environment(
    host: Host, seed: int, core: HostCore, synchronous: bool | None = None
) -> Environment:
    """`synchronous`: whether a file's mapping reaches its medium, None where there is no file."""
    from nearfar import __version__

    # What a process meets is looked at by a process.
    found = preconditions(None if isinstance(host, Kernel) else core)
    if synchronous is not None:
        found.append(direct_access(synchronous))
    return Environment(
        version=__version__,
        seed=seed,
        cpu=machine.cpu_name(),
        kernel=machine.kernel(),
        governor=machine.governor(),
        huge_pages=f"{host.layout()}; transparent: "
        f"{machine.transparent_huge_pages() or 'not supported'}",
        load=round(machine.load_average(), 2),
        timer=timer_text(core),
        preconditions=tuple(found),
    )


def direct_access(synchronous: bool) -> Precondition:
    """Whether a mapped file is the medium, or a copy of it in the page cache."""
    effect = "a file that is not on DAX is measured in the page cache: DRAM, not the device"
    if synchronous:
        return Precondition("direct access", OK, "mapped with MAP_SYNC", effect)
    mend = "use /dev/daxN.M, or a file system mounted with -o dax=always"
    return Precondition("direct access", BAD, "MAP_SYNC was refused", effect, mend)
