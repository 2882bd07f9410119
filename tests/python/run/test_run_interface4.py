"""The plug-in for interface 4, which reads registers: flushes and prefetches find their lines.

A stand-in for QEMU loads it and plays instructions whose registers this test knows.
"""

from __future__ import annotations

import os
from pathlib import Path

from conftest import Compile, needs_front_end
from running import simulated

pytestmark = needs_front_end

SOURCE = Path(__file__).resolve().parents[1] / "fake_qemu.c"
RIP_RELATIVE = 0x403022  # whatever registers hold
FORMS = 6  # of flushes whose address is known: see the stand-in's second block


def round_of(base: int) -> tuple[dict[str, int], list[int], int]:
    """Registers; the lines that the flushes then mean, in their order; that of the prefetch."""
    registers = {
        "rbx": base + 0x1_0080, "r12": base + 0x2_0000, "r13": base + 0x3_0000, "rcx": 0x18,
        "rdi": base + 0x5_0000, "rsp": base + 0x6_0FC0, "r15": base + 0x7_0100,
    }  # fmt: skip
    lines = [
        base + 0x1_0080,  # (%rbx)
        base + 0x2_0040,  # 0x40(%r12)
        base + 0x3_0000 + 0x18 * 8 + 0x1000,  # 0x1000(%r13,%rcx,8)
        base + 0x5_0000 - 0x40,  # -0x40(%rdi)
        RIP_RELATIVE,
        base + 0x6_0FC0,  # (%rsp)
    ]
    return registers, lines, base + 0x7_0100


def test_flushes_and_prefetches_find_their_lines_by_the_registers_of_that_moment(
    compiled: Compile, tmp_path: Path
) -> None:
    qemu = compiled("fake_qemu", SOURCE.read_text(), f"-I{SOURCE.parent}", "-rdynamic", "-ldl")
    script = tmp_path / "script"
    # The same block twice, with other registers.
    rounds = [round_of(base) for base in (0x7F00_0000_0000, 0x7F11_2000_0000)]
    text = ""
    for registers, lines, _ in rounds:
        text += "".join(f"set {name} {value:x}\n" for name, value in registers.items())
        # Only what is dirty is written back: a line beside it would not be.
        text += "".join(f"store {line:x}\n" for line in lines)
        text += "flush\n"
    script.write_text(text)
    out, err, ran = simulated(
        "model:ddr4-2666", ["true"], {**os.environ, "FAKE_QEMU_SCRIPT": str(script)},
        "--qemu", str(qemu),
    )  # fmt: skip
    assert (out, err, ran.exit_code, ran.qemu) == ("", "", 0, "9.2.0")
    counts = ran.counts
    assert counts["instructions"] == 2 * (FORMS * 2 + 10)
    assert (counts["clwb"], counts["clflushopt"], counts["clflush"]) == (2 * 5, 2, 2)
    # That of a segment whose base is not known, each time.
    assert (counts["flushes_unresolved"], counts["flushes_told"]) == (2, 0)
    assert (counts["prefetches"], counts["prefetches_unresolved"]) == (2, 0)
    assert [note for note in ran.notes if "2 flush instructions had no effect" in note]
    machine = ran.processes[0].machine
    assert machine is not None
    assert machine.core.counts["flushes"] == 2 * FORMS
    assert machine.core.counts["flushes_dirty"] == 2 * FORMS
    pages = {page.address: (page.reads, page.writes) for page in machine.memory.pages}
    for _, lines, prefetched in rounds:
        assert pages[prefetched & ~0xFFF][0] >= 1
        assert pages[prefetched & ~0xFFF][1] == 0
        for line in lines:
            times = 2 if line == RIP_RELATIVE else 1
            assert pages[line & ~0xFFF][1] == times, hex(line)
    written = {line & ~0xFFF for _, lines, _ in rounds for line in lines}
    assert {page for page, (_, writes) in pages.items() if writes} == written
