"""Every replacement policy in the pager of a live program, and what it records of its choices."""

from __future__ import annotations

import gzip
import json
import lzma
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

import nearfar
from nearfar._core import ReplacementPolicy
from nearfar.errors import InputError
from nearfar.results.faults import HEAD_BYTES, POLICIES, Event, Faults, head, read_faults
from nearfar.tier.machine import obstacle

_OBSTACLE = obstacle()
_MISSING = str(_OBSTACLE) if _OBSTACLE else "" if shutil.which("gcc") else "no gcc"
needs_tier = pytest.mark.skipif(_MISSING != "", reason=_MISSING)
STRESS = Path(__file__).resolve().parents[2] / "tier" / "stress.c"
MIB = 1 << 20

# Low items far more often, some of them changed; everything is looked at in the end.
SKEWED = """
import hashlib, random
rng = random.Random(3)
held = [str(i) * 20 for i in range(60000)]
for _ in range(60000):
    i = int(60000 * rng.random() ** 4)
    if rng.random() < 0.2:
        held[i] = held[i][1:] + "x"
print(hashlib.sha1("".join(held).encode()).hexdigest())
"""

Refused = Callable[..., str]


def run(tmp_path: Path, policy: str, near: int, *words: str | Path) -> tuple[str, dict[str, Any]]:
    """What a program printed with so many MiB of near memory, and the counts; it is recorded."""
    result = tmp_path / f"{policy}.json"
    process = subprocess.run(
        [sys.executable, "-m", "nearfar", "tier", "run", "--near", f"{near}MiB",
         "--far", tmp_path / "far", "--policy", policy, "--json", result, "--quiet",
         "--record-faults", tmp_path / f"{policy}.faults", "--", *words],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    counts: dict[str, Any] = json.loads(result.read_text())
    assert counts["policy"] == policy
    assert counts["evictions"] > 0
    assert counts["managed_share"] >= 0.9
    return process.stdout, counts


def assert_same_choices(faults: Faults, process: int) -> Counter[Event]:
    """The simulator's copy of the policy names the same pages; how often each event was."""
    events = list(faults.events(process))
    pages = 1 + max(page for _, page in events)
    policy = ReplacementPolicy(faults.policy, near=faults.near_pages, pages=pages)
    source = 0
    for event, page in events:
        if event in (Event.FAULT, Event.AHEAD):
            policy.fault(page)
        elif event is Event.SECOND_CHANCE:
            policy.second_chance(page)
        elif event is Event.EVICTED:
            assert policy.evict() == page
        elif event is Event.REFUSED:
            policy.refused(page)
        elif event is Event.RELEASED:
            policy.released(page)
        elif event is Event.MOVED_FROM:
            source = page
        else:
            policy.moved(source, page)
    return Counter(event for event, _ in events)


@needs_tier
@pytest.mark.parametrize("policy", POLICIES)
def test_a_program_computes_the_same_and_the_simulator_chooses_the_same(
    tmp_path: Path, policy: str
) -> None:
    words = [sys.executable, "-c", SKEWED]
    native = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    out, counts = run(tmp_path, policy, 6, *words)
    assert out == native
    assert counts["over_budget"] == 0
    assert counts["near_peak_bytes"] <= 6 * MIB
    faults = read_faults(tmp_path / f"{policy}.faults")
    assert (faults.policy, faults.near_pages) == (policy, 6 * MIB // 4096)
    [process] = faults.processes()
    seen = assert_same_choices(faults, process)
    assert seen[Event.SECOND_CHANCE] == counts["second_chances"] > 0
    assert seen[Event.EVICTED] == counts["evictions"] + seen[Event.REFUSED]
    assert seen[Event.FAULT] + seen[Event.AHEAD] == counts["copies_in"] + counts["first_touches"]


@needs_tier
@pytest.mark.parametrize("policy", POLICIES[1:])
def test_all_operations_on_memory_at_once_lose_nothing(tmp_path: Path, policy: str) -> None:
    program = tmp_path / "stress"
    subprocess.run(["gcc", "-O2", "-pthread", "-o", program, STRESS], check=True)
    out, counts = run(tmp_path, policy, 8, program, "3", "1200", "3", "4000")
    assert out == "ok\n"
    assert counts["forks"] > 1
    assert counts["second_chances"] > 0
    faults = read_faults(tmp_path / f"{policy}.faults")
    assert len(faults.processes()) > 1
    seen = assert_same_choices(faults, faults.processes()[0])
    assert min(seen[event] for event in (Event.RELEASED, Event.MOVED_TO)) > 0


@needs_tier
def test_recorded_faults_are_a_trace_to_try_policies_on(tmp_path: Path) -> None:
    run(tmp_path, "fifo", 6, sys.executable, "-c", SKEWED)
    file = tmp_path / "fifo.faults"
    replay = nearfar.tier_replay(file, near=["2MiB"])
    assert replay.format == "faults"
    events = [event for event, _ in read_faults(file).visits()]
    assert replay.visits == len(events) - events.count(Event.RELEASED) > replay.pages > 1000
    assert replay.ahead == events.count(Event.AHEAD) > 0
    assert [one.policy for one in replay.sizes[0].policies] == list(POLICIES)
    assert min(one.misses for one in replay.sizes[0].policies) > replay.pages


# Memory that is mapped, written and unmapped again and again.
ROUNDS = """
import mmap, random
rng = random.Random(3)
for _ in range(6):
    memory = mmap.mmap(-1, 16 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for i in range(16384):
        memory[rng.randrange(4096) * 4096] = 1
    memory.close()
"""


@needs_tier
def test_memory_that_was_unmapped_is_new_in_a_replay_as_it_was_live(tmp_path: Path) -> None:
    _, counts = run(tmp_path, "fifo", 6, sys.executable, "-c", ROUNDS)
    replay = nearfar.tier_replay(tmp_path / "fifo.faults", policies=["fifo"], near=["6MiB"])
    replayed = replay.sizes[0].policies[0]
    assert replayed.first_touches == pytest.approx(counts["first_touches"], rel=0.01)
    assert replayed.copies_in == pytest.approx(counts["copies_in"], rel=0.15)


def written(file: Path, events: list[tuple[Event, int, int]]) -> Path:
    words = [event << 60 | page << 32 | process for event, page, process in events]
    begin = head(len(words), 4, POLICIES[2])
    file.write_bytes(begin + b"".join(word.to_bytes(8, "little") for word in words))
    return file


def test_a_page_that_moved_is_the_same_and_one_that_was_released_is_new(tmp_path: Path) -> None:
    events = [
        (Event.FAULT, 1, 7), (Event.FAULT, 2, 7), (Event.MOVED_FROM, 1, 7), (Event.FAULT, 1, 8),
        (Event.MOVED_TO, 5, 7), (Event.FAULT, 5, 7), (Event.FAULT, 1, 7), (Event.RELEASED, 2, 7),
        (Event.RELEASED, 9, 7), (Event.FAULT, 2, 7),
    ]  # fmt: skip
    file = written(tmp_path / "moved", events)
    pages = [(event, page) for event, page in read_faults(file).visits()]
    assert [page for event, page in pages if event == Event.FAULT] == [0, 1, 2, 0, 3, 1]
    assert (Event.RELEASED, 1) in pages
    [policy] = nearfar.tier_replay(file, policies=["fifo"], near=["1MiB"]).sizes[0].policies
    assert (policy.first_touches, policy.copies_in) == (5, 0)


def test_touches_of_two_processes_are_of_different_pages(tmp_path: Path) -> None:
    touched = [
        (Event.FAULT, 1, 7), (Event.AHEAD, 2, 7), (Event.FAULT, 1, 8), (Event.EVICTED, 1, 7),
        (Event.SECOND_CHANCE, 1, 7),
    ]  # fmt: skip
    file = written(tmp_path / "two", touched)
    assert list(read_faults(file).events(7))[1] == (Event.AHEAD, 2)
    replay = nearfar.tier_replay(file, policies=["fifo"], near=["4KiB"])
    # The second touch of process 7 is of a page that came before, and that of process 8 is not.
    assert (replay.pages, replay.visits, replay.ahead) == (3, 4, 1)
    assert replay.sizes[0].policies[0].misses == 4
    file.write_bytes(file.read_bytes()[: HEAD_BYTES + 8])
    with pytest.raises(InputError, match=r"two: found 40 bytes, expected 72 of 5 events"):
        nearfar.tier_replay(file)


def packed(path: Path) -> bytes:
    """A record of three faults, packed as its name says."""
    words = [Event.FAULT << 60 | page << 32 | 7 for page in (1, 2, 1)]
    record = head(len(words), 4, POLICIES[0])
    record += b"".join(word.to_bytes(8, "little") for word in words)
    packers = {"gz": gzip.compress, "zst": zstandard.compress, "xz": lzma.compress, "faults": bytes}
    return packers[path.name.split(".")[-1]](record)


@pytest.mark.parametrize("name", ["t.faults", "t.faults.gz", "t.faults.zst", "t.faults.xz"])
def test_a_record_may_be_packed(refused: Refused, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(packed(file))
    replay = nearfar.tier_replay(file, policies=["fifo"], near=["4KiB"])
    assert (replay.format, replay.pages, replay.visits) == ("faults", 2, 3)
    if name != "t.faults":
        file.write_bytes(packed(file)[:-4])
        assert f"{file}: truncated" in refused("tier", "replay", file)


def test_a_record_may_come_through_a_pipe(tmp_path: Path) -> None:
    record = packed(tmp_path / "t.faults")
    words = ["-m", "nearfar", "tier", "replay", "/dev/stdin", "--near", "4KiB"]
    ran = subprocess.run([sys.executable, *words], input=record, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert b"3 visits to 2 pages" in ran.stdout


@pytest.mark.parametrize("name", ["t.faults", "t.faults.gz"])
def test_commands_that_read_traces_name_the_command_for_a_record(
    refused: Refused, tmp_path: Path, name: str
) -> None:
    file = tmp_path / name
    file.write_bytes(packed(file))
    reads = f"`nearfar tier replay {file}` reads it"
    said = f"{file}: found a record of faults, expected a trace; {reads}"
    assert refused("trace", "info", file) == said
    assert refused("trace", "convert", file, "-o", tmp_path / "t.nft") == said
    assert refused("replay", "model:ddr4-2666", file) == said
    assert refused("tier", "replay", file, "--format", "lackey") == said


def test_an_unknown_policy_and_an_existing_record_are_refused_in_a_line(
    refused: Refused, tmp_path: Path
) -> None:
    words = ["tier", "run", "--near", "8MiB", "--far", str(tmp_path / "far")]
    assert "did you mean clock?" in refused(*words, "--policy", "clok", "--", "true")
    (tmp_path / "there").touch()
    there = str(tmp_path / "there")
    said = refused(*words, "--record-faults", there, "--", "true")
    assert "there: is there already" in said
    assert Path(there).exists()
    assert not (tmp_path / "far").exists()


def test_a_policy_told_of_a_page_that_it_has_no_room_for_says_so() -> None:
    policy = ReplacementPolicy("s3-fifo", near=4, pages=3)
    policy.fault(2)
    assert policy.resident() == 1
    assert policy.bytes_per_page() == 8
    with pytest.raises(InputError, match="page: found 3, expected less than 3"):
        policy.fault(3)
    assert (policy.evict(), policy.evict()) == (2, None)


def test_the_policy_that_the_documentation_shows_is_the_one_that_is_tested() -> None:
    root = Path(__file__).resolve().parents[3]
    shown = (root / "docs" / "tier-policies.md").read_text().split("```cpp\n")[1].split("```")[0]
    tested = (root / "tests" / "cpp" / "own_policy_test.cpp").read_text()
    parts = [part for part in shown.split("\n\n") if "class " in part or "choose" in part]
    assert len(parts) == 2
    assert all(part in tested for part in [*parts, "make_at<LastIn>(at)"])
