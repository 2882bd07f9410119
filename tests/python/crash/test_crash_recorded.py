"""Crashes of recorded traces and of patterns: the states they have, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import nearfar as package
from conftest import Run
from nearfar import CrashProgram
from nearfar.measuring import Chase, Overwrite, Stream
from nearfar.model import load
from nearfar.simulate.crashes.recorded import of_pattern, of_trace
from persistency_reference import reachable

OPTANE = "model:optane-100"
HIGH = 0x7F00_0000_0000  # a virtual address beyond any DIMM
READ, WRITE, NT_WRITE, FLUSH, STORE_FENCE, FULL_FENCE = range(6)
Refused = Callable[..., str]
Record = tuple[int, ...]  # access, then of no fence address and bytes


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def write_trace(path: Path, records: Sequence[Record], kind: str = "memory") -> Path:
    """A trace in nearfar's own format, not packed, as docs/traces.md has it."""
    about = {"schema": "nearfar/trace/1", "kind": kind, "counts": "cycles", "time": "relative"}
    header = f"nearfar-trace 1 {json.dumps(about)}"
    body, last = bytearray(), 0
    for access, *where in records:
        body.append(access)
        if where:
            address, size = where
            body += varint(size)
            change = address - last
            body += varint(change << 1 if change >= 0 else -change * 2 - 1)
            last = address
    path.write_bytes(header.encode() + b"\n" + body + b"\x16" + varint(len(records)))
    return path


def words_of(program: CrashProgram) -> list[int]:
    return sorted({one.address for one in program.operations if one.kind in ("store", "ntstore")})


def states_of(program: CrashProgram) -> int:
    crashed = package.crash(OPTANE, program, options=package.CrashOptions(runs=0))
    assert crashed.architecture.exhaustive
    return crashed.architecture.states


@pytest.mark.parametrize(
    "pattern",
    [
        Overwrite(writes=2),
        Overwrite(writes=2, op="store+clwb", fence_kind="sfence"),
        Chase(region="128B", op="ntstore", lines=4),
        Chase(region="128B", op="store", lines=4, regions="repeat", fence="none"),
        Stream(op="ntstore", access="64B", area="256B", lines=6, fence_every="128B"),
    ],
)
def test_a_pattern_has_the_states_of_a_machine_played_step_by_step(
    pattern: Overwrite | Chase | Stream,
) -> None:
    program = of_pattern(load("optane-100"), pattern)
    assert states_of(program) == len(reachable(program, words_of(program)))


def test_fenced_overwrites_add_the_states_of_their_lines() -> None:
    # The first state, and after each write any of its four lines but none.
    assert states_of(of_pattern(load("optane-100"), Overwrite(writes=50))) == 1 + 50 * 15


def test_the_traffic_of_a_recording_is_flushes_and_writes_of_whole_lines(tmp_path: Path) -> None:
    records = [
        (NT_WRITE, 0x1000, 64),
        (READ, 0x5000, 64),
        (WRITE, 0x2000, 64),
        (FLUSH, 0x3000, 64),
        (STORE_FENCE,),
        (NT_WRITE, 0x4000, 64),
        (FULL_FENCE,),
    ]
    program = of_trace(write_trace(tmp_path / "t.nft", records))
    meant = CrashProgram.parse(
        "ntstore 0x1000 1\nstore 0x2000 3\nstore 0x3000 4\nclwb 0x3000\nsfence\nntstore 0x4000 6\n"
        "mfence"
    )
    words = [0x1000, 0x2000, 0x3000, 0x4000]
    expected = reachable(meant, words)
    assert reachable(program, words) == expected
    seen: set[tuple[int, ...]] = set()

    def note(image: package.CrashImage) -> bool:
        seen.add(tuple(image.u64(word) for word in words))
        return True

    crashed = package.crash(
        OPTANE, tmp_path / "t.nft", invariant=note, options=package.CrashOptions(runs=2)
    )
    assert seen == {image for image, _ in expected}
    assert crashed.architecture.states == len(seen)


def test_an_invariant_asks_which_records_survived(nearfar: Run, tmp_path: Path) -> None:
    body, head = (NT_WRITE, 0x1000, 64), (NT_WRITE, 0x2000, 64)
    check = tmp_path / "check.py"
    check.write_text(
        "def check(image):\n"
        "    heads = [n for n in (2, 3) if image.u64(0x2000) == n]\n"
        "    return not heads or image.survived(1) or 'the head points to nothing'\n"
    )
    for records, status in (([body, (STORE_FENCE,), head], 0), ([body, head], 1)):
        trace = str(write_trace(tmp_path / "t.nft", records))
        found = nearfar("crash", OPTANE, trace, "--invariant", str(check))
        assert found[0] == status
    assert "t.nft:1: ntstore 0x1000 1" in found[1]


def test_crashes_lie_between_two_records(tmp_path: Path) -> None:
    lines = [(NT_WRITE, 0x1000 * (n + 1), 64) for n in range(3)]
    records = [item for line in lines for item in (line, (STORE_FENCE,))]
    trace = write_trace(tmp_path / "t.nft", records)

    def states(first: str | None, last: str | None) -> int:
        crashed = package.crash(
            OPTANE, trace, options=package.CrashOptions(from_label=first, to_label=last, runs=1)
        )
        return crashed.architecture.states

    assert states(None, None) == 4
    assert states("2", None) == 3  # the first is there; behind each of the others
    assert states("2", "5") == 2
    assert states(None, "3") == 2


def test_a_program_keeps_its_virtual_addresses_and_its_words(tmp_path: Path) -> None:
    records = [
        (WRITE, HIGH + 8, 8),
        (WRITE, HIGH + 0x5000 - 4, 8),  # the end of one word, page and line, and the next of each
        (FLUSH, HIGH + 8, 8),
        (STORE_FENCE,),
        (WRITE, HIGH + 8, 8),
    ]
    trace = write_trace(tmp_path / "t.nft", records, kind="program")
    images: set[tuple[int, ...]] = set()

    def note(image: package.CrashImage) -> bool:
        images.add(tuple(image.u64(HIGH + at) for at in (8, 0x4FF8, 0x5000, 0x9000)))
        return not image.survived(5) or image.survived(1)

    crashed = package.crash(OPTANE, trace, invariant=note)
    assert crashed.holds
    torn = [(a, b) for a in (0, 2) for b in (0, 2)]
    before = {(first, *both, 0) for first in (0, 1) for both in torn}
    assert images == before | {(5, *both, 0) for both in torn}


def test_only_a_thread_or_an_area_can_be_asked_about(tmp_path: Path) -> None:
    records = [(NT_WRITE, 0x1000, 64), (NT_WRITE, 0x2000, 64), (NT_WRITE, 0x3000, 64)]
    trace = write_trace(tmp_path / "t.nft", records)
    assert (
        package.crash(OPTANE, trace, options=package.CrashOptions(runs=0)).architecture.states == 8
    )
    crashed = package.crash(
        OPTANE, trace, options=package.CrashOptions(runs=0, area=(0x1FF0, 0x20), thread=0)
    )
    assert crashed.architecture.states == 2


def test_some_of_too_many_states_are_drawn_and_their_number_is_reported(nearfar: Run) -> None:
    command = ["crash", OPTANE, "--pattern", "overwrite --writes 1000", "--max-states", "100"]
    status, out, _ = nearfar(*command, "--runs", "0")
    assert status == 0
    assert "states drawn at random: not exhaustive, of 1.5e+04 combinations" in out
    assert nearfar(*command, "--runs", "0")[1] == out
    assert nearfar(*command, "--runs", "0", "--seed", "2")[1] != ""


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "found neither FILE nor --pattern, expected one of them"),
        (["--pattern", "overwrite --writs 4"], "unknown option '--writs'"),
        (
            ["--pattern", "contention"],
            "found a pattern of loads, expected chase, overwrite, stream",
        ),
        (
            ["--pattern", "chase --region 4KiB,8KiB --op ntstore"],
            "region: found 4096, 8192, expected",
        ),
        (["--pattern", "chase --region 4KiB --lines 64"], "chase: found no store in it"),
        (["--pattern", "overwrite"], "found 1048576 lines to store, expected at most 50000"),
        (
            ["--pattern", "overwrite --writes 4", "--from", "here"],
            "expected the number of a record",
        ),
        (["--pattern", "overwrite --writes 4", "--from", "17"], "expected a line of the pattern"),
        (["--pattern", "overwrite --writes 4", "--thread", "0"], "thread: is of a trace, which"),
    ],
)
def test_input_without_a_crash_to_examine_is_refused_in_one_line(
    refused: Refused, arguments: list[str], complaint: str
) -> None:
    assert complaint in refused("crash", OPTANE, *arguments)


def test_a_trace_with_too_little_information_is_refused(refused: Refused, tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "t.nft", [(READ, 0x1000, 64)])
    assert "t.nft: found no store in it" in refused("crash", OPTANE, trace)
    trace = write_trace(tmp_path / "t.nft", [(NT_WRITE, 0x1000, 64)])
    assert "found record 5, expected one before 2" in refused("crash", OPTANE, trace, "--from", "5")
    tiers = "model:optane-tiered"
    assert "expected near.kind = none" in refused("crash", tiers, trace)
