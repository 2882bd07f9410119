"""`nearfar crash`: what it prints, what it refuses, and that it always says the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import nearfar as package
from conftest import Run
from nearfar import CrashImage, CrashProgram
from nearfar.results import CrashResult, parse

OPTANE = "model:optane-100"
EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "crash"
Refused = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], str]:
    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def test_a_correct_append_holds_with_status_0(nearfar: Run) -> None:
    program, invariant = str(EXAMPLES / "append.txt"), str(EXAMPLES / "append.py")
    status, out, _ = nearfar("crash", OPTANE, program, "--invariant", invariant)
    assert status == 0
    assert "allowed by x86: 7 states; 0 break the invariant" in out


def test_a_missing_fence_is_found_with_the_stores_that_show_it(nearfar: Run) -> None:
    program, invariant = str(EXAMPLES / "append_broken.txt"), str(EXAMPLES / "append.py")
    status, out, _ = nearfar("crash", OPTANE, program, "--invariant", invariant)
    assert status == 1
    assert "10 states; 3 break the invariant" in out
    assert f"lost             {program}:6: store record+16 9\n" in out
    assert f"persisted later  {program}:8: store count 1\n" in out
    assert nearfar("crash", OPTANE + ",imc.domain=eadr", program, "--invariant", invariant)[0] == 0


@pytest.mark.parametrize("name", ["append", "undo_log", "redo_log", "list_insert"])
def test_a_lazy_cache_leaves_after_a_crash_what_the_dimm_alone_would(
    name: str, nearfar: Run
) -> None:
    """It lies in the ADR domain. Blocks move at each second write, so that it holds their lines."""
    lazy = (
        f"{OPTANE},nvdimm.wear.writes=2,nvdimm.wear.spread=0,nvdimm.lsq.hold=1ns,"
        "nvdimm.lazy.enabled=true,nvdimm.lazy.threshold=0,nvdimm.lazy.lz1.size=64B,"
        "nvdimm.lazy.lz2.size=128B"
    )
    invariant = str(EXAMPLES / f"{name}.py")
    for program, wanted in ((f"{name}.txt", 0), (f"{name}_broken.txt", 1)):
        command = ["crash", lazy, str(EXAMPLES / program), "--invariant", invariant]
        status, out, _ = nearfar(*command, "--json", "-")
        met = json.loads(out)["machine"]
        assert status == wanted, program
        assert met["states"] > 1
        assert met["violating"] == 0 or wanted


@pytest.mark.parametrize("name", ["append", "undo_log", "redo_log", "list_insert"])
def test_each_example_holds_and_its_broken_twin_does_not(name: str, nearfar: Run) -> None:
    invariant = str(EXAMPLES / f"{name}.py")
    for program, wanted in ((f"{name}.txt", 0), (f"{name}_broken.txt", 1)):
        command = ["crash", OPTANE, str(EXAMPLES / program), "--invariant", invariant]
        status, out, _ = nearfar(*command, "--json", "-")
        document = json.loads(out)
        assert status == wanted, program
        assert document["architecture"]["exhaustive"]
        for violation in document["architecture"].get("violations", []):
            assert violation["lost"], "the example shows what went wrong"
            assert violation["persisted"]


def test_runs_meet_some_of_the_states_and_break_the_same_invariants() -> None:
    program = CrashProgram.load(EXAMPLES / "undo_log_broken.txt")
    crashed = package.crash(
        OPTANE,
        program,
        invariant=str(EXAMPLES / "undo_log.py"),
        options=package.CrashOptions(runs=64),
    )
    assert 5 < crashed.machine.states <= crashed.architecture.states
    assert 0 < crashed.machine.violating <= crashed.architecture.violating
    assert package.crash(OPTANE, program, options=package.CrashOptions(runs=0)).machine.states == 0


@pytest.mark.parametrize("target", [OPTANE + ",link.kind=cxl", OPTANE + ",channels=6"])
def test_runs_on_other_machines_stay_within_the_allowed_states(target: str) -> None:
    program = CrashProgram.load(EXAMPLES / "list_insert_broken.txt")
    for domain in ("adr", "eadr"):
        crashed = package.crash(
            f"{target},imc.domain={domain}", program, options=package.CrashOptions(runs=32)
        )
        assert 4 < crashed.machine.states <= crashed.architecture.states


def test_the_document_reads_back_and_is_the_same_each_time(nearfar: Run) -> None:
    command = ["crash", OPTANE, str(EXAMPLES / "append_broken.txt"), "--json", "-"]
    command += ["--invariant", str(EXAMPLES / "append.py")]
    out = nearfar(*command)[1]
    assert nearfar(*command)[1] == out
    document = parse(json.loads(out))
    assert isinstance(document, CrashResult)
    assert document.to_dict() == json.loads(out)


def test_labels_bound_the_examined_crashes(write: Callable[[str, str], str], nearfar: Run) -> None:
    program = write("p", "store 0 1\nlabel a\nstore 64 1\nlabel b\nstore 128 1\n")

    def count(*options: str) -> int:
        out = nearfar("crash", OPTANE, program, *options, "--json", "-")[1]
        return int(json.loads(out)["architecture"]["states"])

    before, between, after = (
        count("--to", "a"),
        count("--from", "a", "--to", "b"),
        count("--from", "b"),
    )
    assert (before, between, after) == (2, 4, 8)
    assert count() == before + between + after


def test_beyond_the_limit_states_are_drawn_and_it_says_so(
    write: Callable[[str, str], str], nearfar: Run
) -> None:
    program = write("p", "".join(f"store {64 * i} 1\n" for i in range(40)))
    command = ["crash", OPTANE, program, "--max-states", "500"]
    out = nearfar(*command)[1]
    assert "drawn at random: not exhaustive, of 1.1e+12 combinations" in out
    first, again, other = (
        json.loads(nearfar(*command, "--seed", seed, "--json", "-")[1]) for seed in "778"
    )
    assert first == again
    assert 400 < first["architecture"]["states"] <= 500
    assert not first["architecture"].get("exhaustive")
    assert other["environment"]["seed"] == 8


def test_draws_of_one_thread_are_even() -> None:
    # 2^12 states; each line's store has persisted in half of them.
    program = CrashProgram.parse("".join(f"store {64 * i} 1\n" for i in range(12)))
    persisted = [0] * 12

    def note(image: CrashImage) -> bool:
        for i in range(12):
            persisted[i] += image.u64(64 * i)
        return True

    crashed = package.crash(
        OPTANE, program, invariant=note, options=package.CrashOptions(max_states=2000, runs=0)
    )
    drawn = crashed.architecture.states
    assert all(0.45 < count / drawn < 0.55 for count in persisted)


def test_several_threads_are_drawn_too(write: Callable[[str, str], str], nearfar: Run) -> None:
    lines = [f"{thread} store {64 * (10 * thread + i)} 1\n" for thread in (0, 1) for i in range(9)]
    program = write("p", "".join(lines))
    status, out, _ = nearfar("crash", OPTANE, program, "--max-states", "300")
    assert status == 0
    assert "drawn at random: not exhaustive;" in out


def test_the_best_example_is_the_one_that_lost_least() -> None:
    program = CrashProgram.parse("store 0 1\nstore 64 1\nstore 128 1\nstore 192 1\n")
    crashed = package.crash(
        OPTANE, program, invariant=lambda image: not image.u64(192) or bool(image.u64(0))
    )
    (violation,) = crashed.architecture.violations
    assert violation.states == 4
    assert violation.lost == ["program:1: store 0x0 1"]
    assert len(violation.persisted) == 3


def test_bytes_are_little_endian_and_unnamed_memory_is_zero() -> None:
    program = CrashProgram.parse("name x 64\ninit x 0x0807060504030201 9\nstore 0 1")
    seen = set()

    def note(image: CrashImage) -> bool:
        seen.add((image.bytes("x", 9), image.bytes(66, 2), image.u64("x+8"), image.u64(1 << 20)))
        return True

    package.crash(OPTANE, program, invariant=note)
    assert seen == {(bytes([*range(1, 9), 9]), b"\x03\x04", 9, 0)}


def test_an_image_can_be_read_during_the_check_alone() -> None:
    kept = []
    package.crash(
        OPTANE, CrashProgram.parse("store 0 1"), invariant=lambda image: not kept.append(image)
    )
    with pytest.raises(ValueError, match="while the check runs"):
        kept[0].u64(0)


def test_an_operation_that_is_never_passed_is_named() -> None:
    program = CrashProgram.parse("0 store 0 1\n1 await 0 2\n1 store 64 1\n")
    crashed = package.crash(OPTANE, program)
    assert crashed.architecture.stuck == "program:2: 1 await 0x0 2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stor 0 1", "p:1: found operation 'stor', expected one of .*; did you mean store"),
        ("\n store 4 1", "p:2: found address '4', expected a multiple of 8"),
        ("store 0", "p:1: found 'store 0', expected 'store ADDRESS VALUE...'"),
        ("store 0 1\nsfence 1", "p:2: found 'sfence 1', expected 'sfence'"),
        ("name head 0\nstore haed 1", "p:2: found unknown name 'haed'; did you mean head"),
        ("name h 0\nname h 8", "p:2: found name 'h' a second time"),
        ("label a\nlabel a", "p:2: found label 'a' a second time"),
        ("store 0 -1", "p:1: found '-1', expected a number of 64 bits"),
        ("store 0 0x1ffffffffffffffff", "p:1: found '0x1ffffffffffffffff', expected a number"),
        ("99 store 0 1", "p:1: found thread 99, expected 0 to 63"),
        ("0 name x 1", "p:1: found '0 name x 1', expected an operation after its thread"),
        ("store 0x8000000000 1", "p:1: found address 0x8000000000, expected less than"),
        ("sfence", "p: found no store in it, so nothing can be lost"),
        ("", "p: found no store in it"),
        (
            "ntstore 0 1\n" * 70,
            "p:1: 'ntstore 0x0 1' is the first of 70 non-temporal stores to one line",
        ),
    ],
)
def test_a_wrong_program_is_one_line_with_its_place(
    text: str, message: str, write: Callable[[str, str], str], refused: Refused
) -> None:
    import re

    assert re.search(message, refused("crash", OPTANE, write("p", text)))


GOOD = "store 0 1\nlabel done\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def check(image): return 1 / 0", "i.py:1: check(image) raised ZeroDivisionError: "),
        ("def check(image): pass", "i.py: check(image) returned None, expected True, False, or"),
        (
            "def chek(image): return True",
            "i.py: found no function 'check' in it; did you mean chek",
        ),
        ("def check(image) return", "i.py:1: expected ':'"),
        ("import nothing_of_that_name", "i.py:1: ModuleNotFoundError: No module named"),
        ("def check(image): return image.u64('x')", "KeyError: 'no name x'"),
        ("def check(image): return image.u64(3)", "ValueError: u64: address 3 is not a multiple"),
        ("def check(image): return image.passed('x')", "KeyError: 'no label x'"),
    ],
)
def test_a_wrong_invariant_is_one_line_with_its_place(
    text: str, message: str, write: Callable[[str, str], str], refused: Refused
) -> None:
    program, invariant = write("p", GOOD), write("i.py", text)
    assert message in refused("crash", OPTANE, program, "--invariant", invariant)


def test_an_assertion_is_a_reason(write: Callable[[str, str], str], nearfar: Run) -> None:
    invariant = write(
        "i.py", "def holds(image):\n  assert image.u64(0) == 0, 'it is one'\n  return True\n"
    )
    status, out, _ = nearfar("crash", OPTANE, write("p", GOOD), "--invariant", invariant + ":holds")
    assert status == 1
    assert "it is one (2 states)" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--from", "don"],
            "--from: found no label 'don' in .*, which has done; did you mean done",
        ),
        (["--from", "done", "--to", "done"], "no crash is possible between done and done"),
        (["--max-states", "0"], "max_states: found 0"),
        (["--invariant", "nowhere.py"], "nowhere.py: no such file"),
    ],
)
def test_wrong_options_are_one_line(
    arguments: list[str], message: str, write: Callable[[str, str], str], refused: Refused
) -> None:
    import re

    assert re.search(message, refused("crash", OPTANE, write("p", GOOD), *arguments))


def test_volatile_memory_is_refused(write: Callable[[str, str], str], refused: Refused) -> None:
    assert "its memory is volatile" in refused("crash", "model:ddr4-2666", write("p", GOOD))
    assert "its memory is volatile" in refused("crash", "model:cxl-expander", write("p", GOOD))


def test_memory_mode_is_refused(write: Callable[[str, str], str], refused: Refused) -> None:
    message = refused("crash", "model:optane-memory-mode", write("p", GOOD))
    assert "is in Memory Mode (near.kind = cache), which keeps nothing over a crash" in message


def test_mixed_mode_keeps_data_in_app_direct(
    write: Callable[[str, str], str], refused: Refused
) -> None:
    mixed = "model:optane-100,near.kind=cache,near.capacity=1MiB,near.app_direct=1MiB"
    begin = 256 * (1 << 30) - (1 << 20)
    program = write("p", f"store {begin:#x} 1\nclwb {begin:#x}\nsfence\nstore {begin + 64:#x} 2\n")
    found = package.crash(mixed, program)
    assert found.architecture.states == 3, "none, the first, both"
    assert found.machine.states == 3
    low = write("low", f"store {begin - 64:#x} 1\n")
    expected = (
        f"found address {begin - 64:#x}, which is in Memory Mode, expected {begin:#x} or more"
    )
    assert expected in refused("crash", mixed, low)


def test_a_missing_program_is_one_line(refused: Refused) -> None:
    assert refused("crash", OPTANE, "/no/such/p") == (
        "/no/such/p: No such file or directory; there is no folder /no/such"
    )
