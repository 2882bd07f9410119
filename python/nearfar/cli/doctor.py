"""`nearfar doctor`: what this machine has of what nearfar uses, and how to get the rest.

First what is installed, then what measuring this machine rests on.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version

from nearfar import resources
from nearfar.cli.options import (
    add_output,
    wants_text,
    write_json,
)
from nearfar.cli.parser import Parser
from nearfar.cli.streams import emit
from nearfar.errors import InputError, NearfarError
from nearfar.measuring import preconditions
from nearfar.measuring.kernel.device import Device
from nearfar.measuring.kernel.protocol import DEVICE
from nearfar.model import load, presets
from nearfar.results import Precondition
from nearfar.simulate.programs.qemu import GET_PLUGIN, GET_QEMU, QEMU, folder, front_end
from nearfar.tier import flat as tier_flat
from nearfar.tier import machine as tier_machine
from nearfar.tier.attach import machine as attach_machine
from nearfar.tier.attach.damon import damon_obstacle
from nearfar.tier.control import COPY, MOVE
from nearfar.tier.far import nodes as memory_nodes
from nearfar.tier.swap import machine as swap_machine

OK, OPTIONAL, MISSING = "ok", "optional", "missing"

_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Finding:
    """One thing looked at. `missing` keeps nearfar from working; `optional` does not.

    `effect` is what depends on it, `mend` the command that provides it.
    """

    name: str
    status: str
    found: str
    effect: str
    mend: str = ""


def add_arguments(parser: Parser) -> None:
    """Only the common options."""
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Look at everything; status 1 if something that nearfar cannot do without is missing."""
    findings = [check() for check in CHECKS]
    conditions = preconditions()
    if wants_text(args):
        emit("".join(map(_text, findings)))
        emit("\nmeasuring this machine rests on\n\n")
        emit("".join(map(_condition_text, conditions)))
    write_json(
        args,
        {
            "schema": "nearfar/doctor/1",
            "findings": [asdict(finding) for finding in findings],
            "preconditions": [asdict(condition) for condition in conditions],
        },
    )
    return 1 if any(finding.status == MISSING for finding in findings) else 0


def python() -> Finding:
    """The interpreter that runs this."""
    found = f"{platform.python_version()} at {sys.executable}"
    enough = sys.version_info >= (3, 11)
    return Finding(
        "python", OK if enough else MISSING, found, "nearfar needs 3.11 or newer",
        "" if enough else "apt-get install python3.11",
    )  # fmt: skip


def core() -> Finding:
    """The compiled simulator: there, and loadable by this interpreter."""
    effect = "every simulation needs it: measure, validate, replay"
    try:
        module = importlib.import_module("nearfar._core")
    except ImportError as error:
        return Finding("core", MISSING, f"not loaded: {error}", effect, "make, or: pip install .")
    return Finding("core", OK, f"{module.version()} at {module.__file__}", effect)


def models() -> Finding:
    """The presets: installed, and free of errors."""
    effect = "targets such as model:optane-100 need them"
    try:
        names = presets()
        for name in names:
            load(name)
    except (NearfarError, OSError) as error:
        return Finding("models", MISSING, str(error), effect, "pip install --force-reinstall .")
    return Finding("models", OK, ", ".join(names), effect)


def reference() -> Finding:
    """The published measurements."""
    effect = "validate compares a model with them"
    try:
        tables = [item.name for item in resources.folder("reference").iterdir()]
    except OSError as error:
        return Finding("reference", MISSING, str(error), effect, "pip install --force-reinstall .")
    count = sum(name.endswith(".csv") for name in tables)
    return Finding("reference", OK, f"{count} tables of published measurements", effect)


def zstandard() -> Finding:
    """The library that unpacks traces."""
    effect = "replay needs it for traces compressed with zstd, not for plain or gzip ones"
    try:
        return Finding("zstandard", OK, version("zstandard"), effect)
    except PackageNotFoundError:
        return Finding("zstandard", OPTIONAL, "not installed", effect, "pip install zstandard")


def qemu() -> Finding:
    """What runs real programs: QEMU's user mode, able to load the plug-in built for it."""
    effect = "run needs it: real programs on a simulated machine"
    try:
        front = front_end()
    except InputError as error:
        mend = GET_QEMU if shutil.which(QEMU) is None else GET_PLUGIN
        return Finding(
            "qemu",
            OPTIONAL,
            str(error),
            effect,
            "" if folder().is_dir() and shutil.which(QEMU) else mend,
        )
    found = f"{front.version} at {front.qemu}, plug-in interface {front.interface}"
    return Finding("qemu", OK, found, effect)


def tier() -> Finding:
    """What manages programs on two tiers: the library, its allocator, and the kernel's leave."""
    effect = "tier run needs it: programs with a bounded amount of near memory"
    found = tier_machine.obstacle()
    if found is not None:
        return Finding("tier", OPTIONAL, found.reason, effect, found.mend)
    leave = {MOVE: "moved", COPY: "copied, as before Linux 6.8"}[tier_machine.possible_eviction()]
    found_all = (
        f"{tier_machine.library()}, {tier_machine.allocator()}; pages leave by being {leave}"
    )
    return Finding("tier", OK, found_all, effect)


def flat() -> Finding:
    """What exchanges pages between two nodes: the nodes, and what else moves pages."""
    effect = (
        "tier run --flat needs it: pages exchanged between two nodes that are addressed directly"
    )
    obstacle = tier_machine.obstacle()
    if obstacle is None and MOVE not in tier_machine.evictions():
        obstacle = tier_machine.Obstacle("userfaultfd cannot move pages before Linux 6.8")
    if obstacle is not None:
        return Finding("flat", OPTIONAL, obstacle.reason, effect, obstacle.mend)
    nodes = memory_nodes()
    found = (
        f"nodes with memory: {', '.join(map(str, nodes))}; "
        f"pages in use are found by {' or '.join(tier_flat.detectors())}"
    )
    others = tier_flat.interferences()
    if others:
        reasons = "; ".join(other.reason for other in others)
        return Finding(
            "flat", OPTIONAL, f"{found}; {reasons}", effect, "; ".join(o.mend for o in others)
        )
    if len(nodes) == 1:
        return Finding("flat", OPTIONAL, f"{found}: near and far would be the same", effect)
    return Finding("flat", OK, found, effect)


def attach() -> Finding:
    """What moves pages of programs that run already: page tables, and notes of writes to them."""
    effect = "tier attach --flat needs it: pages of a running program exchanged between two nodes"
    obstacle = attach_machine.attach_obstacle()
    if obstacle is not None:
        return Finding("attach", OPTIONAL, obstacle.reason, effect, obstacle.mend)
    writes = attach_machine.notes_writes()
    reads = damon_obstacle()
    if reads is None:
        also = " or dirty (soft-dirty bits)" if writes else ""
        return Finding("attach", OK, f"pages in use are found by damon{also}", effect)
    if writes:
        found = f"pages in use are found by dirty (soft-dirty bits), reads not: {reads.reason}"
        return Finding("attach", OPTIONAL, found, effect, reads.mend)
    found = (
        "this kernel notes no writes to other processes' pages, and reads are not seen: "
        f"{reads.reason}; --policy static does without"
    )
    return Finding("attach", OPTIONAL, found, effect, attach_machine.GET_SOFT_DIRTY)


def swap() -> Finding:
    """What keeps any program near a limit: the kernel's swap, and leave to fill it."""
    effect = "tier run --backend swap needs it: programs of any kind over the system's swap"
    found = swap_machine.swap_obstacle()
    if found is not None:
        return Finding("swap", OPTIONAL, found.reason, effect, found.mend)
    return Finding("swap", OK, ", ".join(swap_machine.swap_areas()), effect)


def linux_module() -> Finding:
    """What measures inside the kernel: loaded, of this version, and open to this user."""
    effect = "targets such as kernel and kernel:dax=/dev/dax0.0 need it"
    try:
        info = Device().info
    except InputError as error:
        found, _, mend = str(error).removeprefix("kernel: ").partition("; ")
        return Finding("linux module", OPTIONAL, found, effect, mend or "see docs/linux-module.md")
    return Finding("linux module", OK, f"{DEVICE}, protocol {info.protocol}", effect)


def processors() -> Finding:
    """How many processes can work at once."""
    count = len(os.sched_getaffinity(0))
    return Finding(
        "processors",
        OK,
        f"{count} usable",
        "a simulation uses one; independent ones can run side by side",
    )


def chromium() -> Finding:
    """The browser that the tests open reports in."""
    effect = "the tests open HTML reports in it; reports themselves open in any browser"
    return _program("chromium", _CHROMIUM, effect, "apt-get install chromium")


def valgrind() -> Finding:
    """What counts instructions."""
    effect = "make bench counts instructions with it; nothing else needs it"
    return _program("valgrind", ("valgrind",), effect, "apt-get install valgrind")


CHECKS: tuple[Callable[[], Finding], ...] = (
    python, core, models, reference, zstandard, qemu, tier, flat, attach, swap, linux_module,
    processors, chromium, valgrind,
)  # fmt: skip


def _program(name: str, programs: tuple[str, ...], effect: str, mend: str) -> Finding:
    for program in programs:
        path = shutil.which(program)
        if path is not None:
            return Finding(name, OK, path, effect)
    return Finding(name, OPTIONAL, "not found", effect, mend)


def _text(finding: Finding) -> str:
    mend = f"to get it: {finding.mend}" if finding.mend else ""
    return _lines(finding.status, finding.name, finding.found, finding.effect, mend)


def _condition_text(condition: Precondition) -> str:
    mend = f"to mend it: {condition.mend}" if condition.mend else ""
    return _lines(condition.state, condition.name, condition.found, condition.effect, mend)


def _lines(status: str, name: str, found: str, effect: str, mend: str) -> str:
    parts = [f"{status:8}  {name}: {found}", f"{'':8}  {effect}"]
    if mend:
        parts.append(f"{'':8}  {mend}")
    return "\n".join(parts) + "\n"
