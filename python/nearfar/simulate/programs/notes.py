"""What of a program's run was not seen, or was not as it would be on hardware."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence

from nearfar.simulate.programs.elf import Command
from nearfar.simulate.programs.qemu import FrontEnd
from nearfar.simulate.programs.start import Ended


def notes(
    program: Command,
    front: FrontEnd,
    ended: Ended,
    parts: Sequence[Mapping[str, str]],
    window: Mapping[str, int],
    *,
    pretranslates: bool,
) -> list[str]:
    """Each a line; `parts` are what the processes left, `window` is what of each was measured.

    `pretranslates`: the machine has Pre-translation.
    """

    def total(name: str) -> int:
        return sum(int(part[name]) for part in parts)

    found = []
    if ended.signal is not None:
        found.append(f"the program was ended by {signal.Signals(ended.signal).name}")
    if any(part.get("stopped") == "true" for part in parts):
        found.append(
            "SIGTERM stopped what the program did not end by itself: the figures are up to there"
        )
    if any(part["final"] != "true" for part in parts):
        found.append("a process was killed: its figures are from up to half a second before")
    for part in parts:
        if int(part["avx512"]) and int(part["signal"]) == signal.SIGILL:
            found.append(
                f"{part['called']} was ended: it uses AVX-512 (at {int(part['avx512']):#x}), which "
                "QEMU does not have"
            )
    unresolved = total("count.flushes_unresolved")
    if unresolved and front.interface >= 4:
        found.append(
            f"{unresolved} flush instructions had no effect: their addresses need a segment's base"
        )
    elif unresolved:
        found.append(
            f"{unresolved} flush instructions had no effect: QEMU {front.version} does not tell "
            "their addresses, and no libpmem function did (QEMU 9.2 or newer tells them)"
        )
    prefetches = total("count.prefetches_unresolved")
    if prefetches and front.interface < 4:
        found.append(
            f"{prefetches} prefetch instructions had no effect: QEMU {front.version} does not tell "
            "their addresses (QEMU 9.2 or newer tells them)"
        )
    # The dynamic linker reads it up to ten times to time itself.
    if total("count.counters_read") > 10 * len(parts):
        found.append(
            f"the program read the processor's cycle counter {total('count.counters_read')} times; "
            "it counts real time, unlike the clocks"
        )
    if not pretranslates:
        found += unused_marks(total("count.marked_loads"))
    unordered = total("unordered")
    if unordered:
        found.append(
            f"{unordered} messages between processes did not order their clocks: the run has "
            "more pipes, sockets and processes than nearfar keeps times of"
        )
    natives = total("natives")
    if natives:
        names = ", ".join(sorted({part["native"] for part in parts if "native" in part}))
        found.append(f"{natives} programs ran unseen, not being for x86-64: {names}")
    if not program.dynamic:
        found.append(
            "the program is linked statically: time() tells real time, and libpmem's flushes "
            "cannot be told"
        )
    return [*found, *_missed(window, parts)]


def unused_marks(marked: int) -> list[str]:
    """The line about marks on a machine without Pre-translation, if there are any."""
    if not marked:
        return []
    return [
        f"{marked} loads marked by mkpt had no effect: the machine has no Pre-translation "
        "(nvdimm.pretranslation.enabled)"
    ]


def _missed(window: Mapping[str, int], parts: Sequence[Mapping[str, str]]) -> list[str]:
    """The processes that ended before the window, or within it."""
    if not window:
        return []
    begin = window["skip"] + window["warm"]
    passed = [int(part["passed"]) for part in parts]
    before = sum(count <= begin for count in passed)
    within = sum(begin < count < begin + window["run"] for count in passed)
    longest = f"the longest has {max(passed):,} instructions"
    found = []
    if before:
        found.append(f"{before} of {len(parts)} programs ended before the window; {longest}")
    if within:
        found.append(f"{within} of {len(parts)} programs ended within the window; {longest}")
    return found
