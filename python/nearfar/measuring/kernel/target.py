"""Memory that the Linux module measures: contiguous, a reserved range, or a DAX device."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nearfar.errors import InputError
from nearfar.measuring.host.target import Host, node_number, read_options
from nearfar.results import Target

if TYPE_CHECKING:
    from nearfar.measuring.host.core import HostCore
    from nearfar.measuring.kernel.core import KernelCore

_KEYS = ("node", "dax", "range", "pages")
_FORMS = "kernel[:node=N][,pages=4KiB], kernel:dax=PATH or kernel:range=ADDRESS"
PAGES = ("2MiB", "4KiB")
_NUMBER = re.compile("0[xX][0-9a-fA-F]+|[0-9]+")


@dataclass(frozen=True)
class Kernel(Host):
    """Memory of this machine, measured inside the kernel; `file` is a DAX device.

    `range` is the physical address where a reservation of the kernel's command line begins, or one
    inside of it. On pages of "2MiB" the kernel's own mapping is used, whose pages are as large as
    the memory allows.
    """

    pages: str = PAGES[0]
    range: int | None = None

    def __post_init__(self) -> None:
        if self.pages not in PAGES:
            raise InputError(
                f"target {self.spec()}: found pages '{self.pages}', "
                f"expected one of {', '.join(PAGES)}"
            )
        places = [place for place in (self.node, self.file, self.range) if place is not None]
        if len(places) > 1:
            raise InputError(f"target {self.spec()}: found {len(places)} places, expected one")
        if self.range is not None and self.pages != PAGES[0]:
            raise InputError(
                f"target {self.spec()}: a range has pages of the kernel's choice; leave out pages"
            )
        self.check_destructive()

    def spec(self) -> str:
        """The target as a command line names it."""
        options = []
        if self.node is not None:
            options.append(f"node={self.node}")
        if self.file is not None:
            options.append(f"dax={self.file}")
        if self.range is not None:
            options.append(f"range={self.range:#x}")
        if self.pages != PAGES[0]:
            options.append(f"pages={self.pages}")
        return "kernel" + (":" + ",".join(options) if options else "")

    def describe(self) -> Target:
        """The target as a result names it."""
        name = self.file
        if self.range is not None:
            name = f"physical memory at {self.range:#x}"
        elif name is None:
            name = "memory" if self.node is None else f"memory of node {self.node}"
        return Target(kind="kernel", name=name, spec=self.spec(), mode="measured")

    def is_fixed(self) -> bool:
        """Whether it is a DAX device or a reserved range."""
        return self.file is not None or self.range is not None

    def layout(self) -> str:
        """How its memory is mapped, for a result's environment."""
        if self.pages == PAGES[0]:
            return "measured in the kernel's own mapping"
        return f"measured in a mapping of the kernel by {self.pages} pages"

    def module(self) -> KernelCore:
        """The module behind /dev/nearfar. Raises InputError if it cannot be used."""
        from nearfar.measuring.kernel.core import KernelCore

        return KernelCore(self)

    def capacity(self, core: HostCore) -> int:
        """Bytes that can be measured there. Raises InputError if the machine has no such node."""
        self.check_node()
        return core.host_capacity(self.file or "", destructive=self.may_destroy())


def parse_kernel(text: str, destructive: str | None = None) -> Kernel:
    """`kernel`, `kernel:dax=PATH`, `kernel:range=0x40000000`... Raises InputError."""
    options = read_options(text, _KEYS, _FORMS)
    return Kernel(
        pages=options.get("pages", PAGES[0]),
        node=node_number(text, options["node"]) if "node" in options else None,
        file=options.get("dax"),
        range=_address(text, options["range"]) if "range" in options else None,
        destructive=destructive,
    )


def _address(text: str, value: str) -> int:
    if not _NUMBER.fullmatch(value):
        raise InputError(f"target {text}: found range '{value}', expected a whole number")
    found = int(value, 16 if value[:2].lower() == "0x" else 10)
    if found % 4096:
        raise InputError(f"target {text}: {value} is not a multiple of 4096, the size of a page")
    return found
