"""Programs on two tiers without the launcher, and programs that advise."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from nearfar.results.faults import DEFAULT_POLICY
from nearfar.tier.client import find
from nearfar.tier.control import COUNTS, Member, has_obeyed
from nearfar.tier.machine import headers, library, obstacle, preloaded
from nearfar.tier.outcome import Outcome

_OBSTACLE = obstacle()
needs_tier = pytest.mark.skipif(_OBSTACLE is not None, reason=str(_OBSTACLE))
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
ADVISE = Path(__file__).resolve().parents[3] / "examples" / "tier" / "advise.c"
MIB = 1 << 20

HOLDS = """
import hashlib, sys
held = {i: str(i) * 20 for i in range(50000)}
print(hashlib.sha1(repr(sorted(held.items())).encode()).hexdigest(), flush=True)
sys.stdin.read()
"""
RUN_HOLDS = [sys.executable, "-c", HOLDS]

Environment = Callable[..., dict[str, str]]


@pytest.fixture
def alone(tmp_path: Path) -> Environment:
    """An environment that asks for 8 MiB of near memory, but for what is given."""

    def make(**changes: str | None) -> dict[str, str]:
        wanted: dict[str, str | None] = {
            **os.environ,
            "LD_PRELOAD": preloaded(),
            "NEARFAR_TIER_NEAR": "8MiB",
            "NEARFAR_TIER_FAR": str(tmp_path / "far"),
            "NEARFAR_TIER_REPORT": str(tmp_path / "report.json"),
            **changes,
        }
        return {name: value for name, value in wanted.items() if value is not None}

    return make


def run(*words: str | Path, **settings: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        timeout=120, **settings,
    )  # fmt: skip


@needs_tier
def test_a_program_runs_on_two_tiers_by_its_environment(alone: Environment, tmp_path: Path) -> None:
    ran = run(*RUN_HOLDS, env=alone())
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == run(*RUN_HOLDS).stdout
    report = json.loads((tmp_path / "report.json").read_text())
    assert (
        report.keys()
        == Outcome(0, 0, DEFAULT_POLICY, dict.fromkeys(COUNTS, 0)).result().to_dict().keys()
    )
    assert report["near_peak_bytes"] <= report["near_limit_bytes"] == 8 * MIB
    assert report["policy"] == DEFAULT_POLICY
    assert report["evictions"] > 0
    assert report["managed_share"] >= 0.9
    assert not (tmp_path / "far").exists()


@needs_tier
def test_children_and_executed_programs_share_the_limit(alone: Environment, tmp_path: Path) -> None:
    script = '"$0" -c "$1"; "$0" -c "$1" | cat; exec "$0" -c "$1"'
    ran = run("sh", "-c", script, *RUN_HOLDS[::2], env=alone())
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == 3 * run(*RUN_HOLDS).stdout
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["near_peak_bytes"] <= 8 * MIB
    assert report["evictions"] > 0
    assert report["over_budget"] == 0


@needs_tier
def test_without_a_file_for_it_the_report_is_a_line(alone: Environment) -> None:
    ran = run(*RUN_HOLDS, env=alone(NEARFAR_TIER_REPORT=None))
    assert ran.stderr.startswith("nearfar tier: near ")
    assert " evictions, " in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert run(*RUN_HOLDS, env=alone(NEARFAR_TIER_REPORT="")).stderr == ""


@needs_tier
def test_a_program_without_a_launcher_is_watched_and_given_another_limit(
    alone: Environment, nearfar: Callable[..., tuple[int, str, str]]
) -> None:
    with subprocess.Popen(
        RUN_HOLDS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=alone()
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        pid = str(process.pid)
        stats = json.loads(nearfar("tier", "stats", "--json", "-", pid)[1])
        assert stats["near_limit_bytes"] == 8 * MIB
        assert [part["process"] for part in stats["processes"]] == [process.pid]
        stats = json.loads(nearfar("tier", "set", "--near", "2MiB", "--json", "-", pid)[1])
        assert stats["near_bytes"] <= stats["near_limit_bytes"] == 2 * MIB


@needs_tier
def test_several_commands_may_give_orders_at_once(
    alone: Environment, nearfar: Callable[..., tuple[int, str, str]]
) -> None:
    environment = alone(NEARFAR_TIER_NEAR="64MiB")
    with subprocess.Popen(
        RUN_HOLDS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        ended = threading.Event()
        tree = find(process.pid)

        def set_again_and_again() -> None:
            while not ended.is_set():
                tree.ask(do="set", near_bytes=64 * MIB)

        with ThreadPoolExecutor() as beside:
            setting = beside.submit(set_again_and_again)
            try:
                for verb in (["pause", "--resident"], ["resume"]) * 5:
                    assert nearfar("tier", *verb, "--quiet", str(process.pid)) == (0, "", "")
            finally:
                ended.set()
            setting.result()


@pytest.mark.parametrize(
    ("obeyed", "generation", "expected"),
    [(7, 7, True), (8, 7, True), (6, 7, False), (0, 7, False), (1, 2**32 - 1, True),
     (2**32 - 1, 1, False)],
)  # fmt: skip
def test_an_order_is_obeyed_by_processes_that_obey_a_later_one(
    obeyed: int, generation: int, expected: bool
) -> None:
    member = Member(1, 0, 0, obeyed, 0, 0, 0)
    assert has_obeyed(member, generation) == expected


@needs_tier
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"NEARFAR_TIER_NEAR": "8M"},
            "found '8M', expected a whole number of KiB, MiB, GiB or TiB",
        ),
        ({"NEARFAR_TIER_NEAR": "64KiB"}, "found '64KiB', expected"),
        ({"NEARFAR_TIER_NEAR": None}, "FAR: expected NEARFAR_TIER_NEAR beside it"),
        ({"NEARFAR_TIER_NEER": "8MiB"}, "NEARFAR_TIER_NEER: expected NEARFAR_TIER_NEAR, _FAR,"),
        ({"NEARFAR_TIER_FAR": None}, "NEARFAR_TIER_FAR: found '', expected the name of a file"),
        ({"NEARFAR_TIER_FAR": "compressed"}, "found 'compressed', expected the name of a file"),
        ({"NEARFAR_TIER_FAR": "node:0"}, "found 'node:0', expected the name of a file"),
        ({"NEARFAR_TIER_FAR": "/dev/null"}, "is there already"),
        ({"NEARFAR_TIER_POLICY": "lifo"}, "found 'lifo', expected one of fifo clock"),
        ({"NEARFAR_TIER_GUEST": "1G"}, "found '1G', expected the bytes of each block of the guest"),
        ({"NEARFAR_TIER_GUEST": "4096,"}, "found '4096,', expected the bytes of each block"),
        ({"NEARFAR_TIER_GUEST": "4097"}, "found '4097', expected the bytes of each block"),
        ({"NEARFAR_TIER_GUEST": ",".join(["4096"] * 33)}, "(32 blocks at most)"),
        ({"NEARFAR_TIER_PAGER_CPU": "elsewhere"}, "expected auto, any, same, same_idle or per_cpu"),
    ],
)
def test_an_environment_that_cannot_be_used_ends_the_program(
    alone: Environment, changes: dict[str, str | None], expected: str
) -> None:
    ran = run("true", env=alone(**changes))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert expected in ran.stderr
    assert ran.stderr.count("\n") == 1


@needs_tier
def test_far_memory_that_cannot_be_made_ends_the_program(alone: Environment) -> None:
    ran = run("true", env=alone(NEARFAR_TIER_FAR="/nowhere/far"))
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == (
        "nearfar tier: the file of NEARFAR_TIER_FAR cannot be made: No such file or directory\n"
    )


@needs_tier
def test_a_program_that_closes_its_standard_error_is_reported_on(alone: Environment) -> None:
    # As GNU programs do at their end, to find out whether all was written.
    script = "import os, subprocess; subprocess.run(['true']); os.fork(); os.closerange(1, 300)"
    ran = run(sys.executable, "-c", script, env=alone(NEARFAR_TIER_REPORT=None))
    assert ran.stderr.startswith("nearfar tier: near ")
    assert ran.stderr.count("\n") == 1


@needs_tier
def test_a_report_that_cannot_be_written_is_told(alone: Environment) -> None:
    ran = run("true", env=alone(NEARFAR_TIER_REPORT="/dev/full"))
    said = "nearfar tier: /dev/full: cannot be written (NEARFAR_TIER_REPORT)\n"
    assert (ran.returncode, ran.stderr) == (0, said)


@needs_tier
def test_a_policy_is_chosen_by_the_environment(alone: Environment, tmp_path: Path) -> None:
    ran = run("true", env=alone(NEARFAR_TIER_POLICY="regret"))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads((tmp_path / "report.json").read_text())["policy"] == "regret"


@needs_tier
def test_the_library_and_the_header_are_where_the_commands_say(
    nearfar: Callable[..., tuple[int, str, str]],
) -> None:
    assert nearfar("tier", "library")[1] == f"{library()}:libmimalloc.so.2\n"
    folder = Path(nearfar("tier", "header")[1].rstrip("\n"))
    assert (folder / "nearfar" / "tier.h").is_file()


@pytest.mark.parametrize("verb", ["library", "header"])
def test_commands_that_print_a_place_take_nothing(refused: Callable[..., str], verb: str) -> None:
    assert "too many" in refused("tier", verb, "sort")
    assert "unknown option '--json'" in refused("tier", verb, "--json", "-")
    assert "unknown option '--near'" in refused("tier", verb, "--near", "1MiB")


@needs_tier
@needs_gcc
@pytest.mark.parametrize("kind", ["-pie", "-no-pie"])
def test_a_program_advises_with_the_library_and_runs_without_it(tmp_path: Path, kind: str) -> None:
    program = tmp_path / "advise"
    words = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{headers()}", kind]
    words += ["-fPIE"] if kind == "-pie" else ["-fno-pie"]
    subprocess.run([*words, "-o", program, ADVISE], check=True)
    plain = run(program)
    assert plain.returncode == 0
    assert "managed: 0\n" in plain.stdout
    assert "cold: Function not implemented" in plain.stderr
    far, result = tmp_path / "far", tmp_path / "result.json"
    managed = run(
        sys.executable, "-m", "nearfar", "tier", "run", "--near", "16MiB", "--far", far,
        "--json", result, "--quiet", "--", program,
    )  # fmt: skip
    assert managed.returncode == 0
    assert managed.stdout == plain.stdout.replace("managed: 0", "managed: 1")
    assert managed.stderr == "copied in while the tables were read: 0 pages\n"
    assert json.loads(result.read_text())["evictions"] > 8000


FAULTS_AGAIN = """
import itertools, signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
held = bytearray(32 << 20)
print("ready", flush=True)
for i in itertools.count():
    held[i * 7919 * 4096 % len(held)] = 1
"""


@needs_tier
@pytest.mark.skipif(os.geteuid() != 0, reason="only for root")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor only")
@pytest.mark.parametrize("where", ["any", "same_idle"])
def test_a_program_without_a_launcher_has_its_pager_where_it_is_told_to(
    alone: Environment, tmp_path: Path, where: str
) -> None:
    """Behind, but for a while after it starved there, as it may beside other tests."""
    words = [sys.executable, "-c", FAULTS_AGAIN]
    pipe = subprocess.PIPE
    environment = alone(NEARFAR_TIER_PAGER_CPU=where)
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, env=environment) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            tree, deadline = find(process.pid), time.monotonic() + 60
            counts = tree.ask(do="stats")
            most = 1 << 62 if where == "same_idle" else 20_000
            while counts["kept_faults"] == 0 and counts["faults"] < most:
                assert time.monotonic() < deadline, counts
                time.sleep(0.01)
                counts = tree.ask(do="stats")
            process.terminate()
            assert (process.communicate(timeout=60)[1], process.returncode) == (b"", 0)
        finally:
            process.kill()
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["kept_faults"] > 0) == (where == "same_idle")
