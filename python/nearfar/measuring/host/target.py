"""This machine's memory as a target: which of it, on which pages, and what may be destroyed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.errors import InputError, suggestion
from nearfar.measuring import machine
from nearfar.results import Target

if TYPE_CHECKING:
    from nearfar.measuring.host.core import HostCore

PAGES = ("4KiB", "2MiB", "1GiB")
_KEYS = ("node", "file", "pages")
_FORMS = "host[:node=N][,pages=4KiB|2MiB|1GiB] or host:file=PATH"


@dataclass(frozen=True)
class Host:
    """Anonymous memory, of one NUMA node if `node` is given; or a file or DAX device.

    `destructive` names the file or device that may lose what it holds.
    """

    pages: str = "4KiB"
    node: int | None = None
    file: str | None = None
    destructive: str | None = None

    def __post_init__(self) -> None:
        if self.pages not in PAGES:
            raise InputError(
                f"target {self.spec()}: found pages '{self.pages}', "
                f"expected one of {', '.join(PAGES)}"
            )
        if self.file is not None and (self.node is not None or self.pages != PAGES[0]):
            raise InputError(
                f"target {self.spec()}: a file lies where it lies, on pages of its own; "
                "leave out node and pages"
            )
        self.check_destructive()

    def check_destructive(self) -> None:
        """Raise InputError if something else may be lost than is measured."""
        if self.destructive is not None and not self.may_destroy():
            raise InputError(
                f"destructive: {self.destructive} is not what is measured, "
                f"{self.file or 'memory that holds nothing'}"
            )

    def spec(self) -> str:
        """The target as a command line names it."""
        options = []
        if self.node is not None:
            options.append(f"node={self.node}")
        if self.file is not None:
            options.append(f"file={self.file}")
        if self.pages != PAGES[0]:
            options.append(f"pages={self.pages}")
        return "host" + (":" + ",".join(options) if options else "")

    def may_destroy(self) -> bool:
        """Whether what the file or device holds may be lost."""
        if self.file is None or self.destructive is None:
            return False
        return Path(self.file).resolve() == Path(self.destructive).resolve()

    def describe(self) -> Target:
        """The target as a result names it."""
        place = "memory" if self.node is None else f"memory of node {self.node}"
        return Target(kind="host", name=self.file or place, spec=self.spec(), mode="measured")

    def is_fixed(self) -> bool:
        """Whether it lies where it lies, and on no node of choice."""
        return self.file is not None

    def layout(self) -> str:
        """How its memory is mapped, for a result's environment."""
        return f"measured on {self.pages} pages"

    def module(self) -> HostCore | None:
        """What measures it instead of this process; None where nothing does."""
        return None

    def capacity(self, core: HostCore) -> int:
        """Bytes that can be measured there. Raises InputError if the machine has no such node."""
        if self.file is not None:
            return core.host_capacity(self.file, destructive=self.may_destroy())
        self.check_node()
        return machine.free_memory(self.node)

    def check_node(self) -> None:
        """Raise InputError if the machine has no memory on the node."""
        if self.node is not None and self.node not in machine.memory_nodes():
            nodes = ", ".join(map(str, machine.memory_nodes()))
            raise InputError(
                f"target {self.spec()}: no memory on node {self.node}; "
                f"this machine has it on {nodes}"
            )


def is_host(text: str) -> bool:
    """Whether a target is meant to be this machine, from a process or inside the kernel."""
    return text.partition(":")[0] in ("host", "kernel")


def parse_host(text: str, destructive: str | None = None) -> Host:
    """`host`, `host:node=1,pages=2MiB`, `host:file=PATH`, `kernel...`. Raises InputError."""
    if text.partition(":")[0] == "kernel":
        from nearfar.measuring.kernel.target import parse_kernel

        return parse_kernel(text, destructive)
    options = read_options(text, _KEYS, _FORMS)
    return Host(
        pages=options.get("pages", PAGES[0]),
        node=node_number(text, options["node"]) if "node" in options else None,
        file=options.get("file"),
        destructive=destructive,
    )


def read_options(text: str, keys: Sequence[str], forms: str) -> dict[str, str]:
    """What stands behind the colon of a target, KEY=VALUE,...; `forms` is how it may look. Raises
    InputError for other keys, and for one without a value or given twice."""
    options: dict[str, str] = {}
    _, _, rest = text.partition(":")
    if text.endswith(":"):
        raise InputError(f"found target '{text}', expected {forms}")
    for option in rest.split(",") if rest else ():
        key, equals, value = option.partition("=")
        if key not in keys:
            raise InputError(
                f"target {text}: unknown '{key}', expected {forms}{suggestion(key, keys)}"
            )
        if not equals or not value:
            raise InputError(f"target {text}: '{key}' has no value, expected {forms}")
        if key in options:
            raise InputError(f"target {text}: '{key}' is given twice")
        options[key] = value
    return options


def node_number(text: str, value: str) -> int:
    """The number of a NUMA node. Raises InputError."""
    if not value.isdecimal():
        raise InputError(f"target {text}: found node '{value}', expected a whole number")
    return int(value)
