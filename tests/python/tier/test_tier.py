"""Programs on two tiers do what they do natively, and hold no more near memory than allowed.

Counts tell what happened. A run that was hardly managed, or evicted nothing, shows nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tiered import MIB, PROGRAMS, Tiered, compiled, native, needs_tier, run_tiered

Run = Callable[..., Tiered]


@pytest.fixture
def tiered(tmp_path: Path) -> Run:
    """Run a program with so many MiB of near memory."""

    def run(near: int, *words: str | Path, **settings: Any) -> Tiered:
        return run_tiered(tmp_path, f"{near}MiB", *words, **settings)

    return run


@pytest.fixture(scope="module")
def stress(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(PROGRAMS / "stress.c", tmp_path_factory.mktemp("tier") / "stress")


@needs_tier
@pytest.mark.parametrize(("near", "seed"), [(8, 1), (4, 2)])
def test_all_operations_on_memory_at_once_lose_nothing(
    tiered: Run, stress: Path, near: int, seed: int
) -> None:
    ran = tiered(near, stress, str(seed), "2000", "3", "6000").covered()
    assert ran.out == "ok\n"
    assert ran.counts["forks"] > 5
    assert ran.counts["copies_out"] > 1000
    assert ran.counts["second_chances"] > 0
    assert ran.counts["clean_drops"] > 0


@needs_tier
def test_sort_in_a_quarter_of_its_memory_sorts(tiered: Run, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text("".join(f"{i * 7919 % 1000003} line {i}\n" for i in range(140000)))
    words = ["sort", "-S", "100M", lines]
    locale = {"env": os.environ | {"LC_ALL": "C"}}
    ran = tiered(2, *words, **locale).covered()
    assert ran.out == native(*words, **locale)
    assert ran.counts["managed_peak_bytes"] > 4 * 2 * MIB
    assert ran.counts["near_peak_bytes"] <= 2 * MIB
    assert ran.counts["over_budget"] == 0


HOLDS_MUCH = """
import hashlib, os
held = {i: str(i) * 20 for i in range(50000)}
def look():
    return hashlib.sha1(repr(sorted(held.items())).encode()).hexdigest()
"""

FORKS = (
    HOLDS_MUCH
    + """
for child in range(2):
    process = os.fork()
    if process == 0:
        for i in range(child, 50000, 7):
            held[i] = f"child {child}"
        print(child, look(), flush=True)
        os._exit(0)
    for i in range(child, 50000, 11):
        held[i] = f"parent {child}"
    assert os.waitpid(process, 0)[1] == 0
print(look())
"""
)


@needs_tier
def test_forked_children_and_their_parent_each_keep_their_own(tiered: Run) -> None:
    words = [sys.executable, "-c", FORKS]
    ran = tiered(6, *words).covered()
    assert ran.out == native(*words)
    assert ran.counts["forks"] == 2


@needs_tier
def test_near_memory_stays_within_the_limit_as_the_kernel_counts_it(tiered: Run) -> None:
    code = (
        HOLDS_MUCH
        + """
look()
print(open("/proc/self/status").read().split("RssAnon:")[1].split()[0])
"""
    )
    ran = tiered(8, sys.executable, "-c", code).covered()
    outside = ran.counts["unmanaged_peak_bytes"]
    assert int(ran.out) * 1024 <= 8 * MIB + MIB + outside
    assert ran.counts["near_peak_bytes"] <= 8 * MIB


@needs_tier
def test_a_program_that_closes_everything_keeps_its_memory(tiered: Run) -> None:
    code = (
        HOLDS_MUCH
        + """
before = look()
os.closerange(3, 4096)
for descriptor in range(3, 1024):
    try:
        os.close(descriptor)
    except OSError:
        pass
assert look() == before
"""
    )
    tiered(8, sys.executable, "-c", code).covered()


@needs_tier
def test_programs_that_a_shell_starts_are_managed_too(tiered: Run, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text("".join(f"{i * 7919 % 1000003} line {i}\n" for i in range(160000)))
    ran = tiered(2, "sh", "-c", f"sort -S 100M '{lines}' | tail -n 1").covered()
    assert ran.out == native("sh", "-c", f"sort -S 100M '{lines}' | tail -n 1")


@needs_tier
def test_a_far_file_that_is_full_ends_the_program_with_the_reason(tiered: Run) -> None:
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))"
    ran = tiered(8, sys.executable, "-c", code + HOLDS_MUCH + "print(look())")
    assert ran.status == 1
    assert ran.out == ""
    assert ran.err.startswith("nearfar tier: the far file is full")
    assert ran.err.count("\n") == 1


@needs_tier
def test_the_status_of_the_program_is_that_of_the_command(tiered: Run) -> None:
    assert tiered(8, "sh", "-c", "exit 7").status == 7
    assert tiered(8, "sh", "-c", "kill -9 $$").status == 128 + 9


def arguments(*, near: str = "8MiB", far: Path, program: Path | str = "true") -> list[str]:
    return ["tier", "run", "--near", near, "--far", str(far), "--", str(program)]


def test_too_little_near_memory_is_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    assert "at least 1 MiB" in refused(*arguments(near="64KiB", far=tmp_path / "far"))


def test_more_near_memory_than_there_can_be_is_refused(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    given = arguments(near="99999999999TiB", far=tmp_path / "far")
    assert "less than 8388608 TiB" in refused(*given)


@needs_tier
def test_a_far_file_that_is_there_is_refused_and_kept(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    far = tmp_path / "far"
    far.write_text("mine")
    assert "is there already" in refused(*arguments(far=far))
    assert far.read_text() == "mine"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
def test_a_static_program_is_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    source, program = tmp_path / "static.c", tmp_path / "static"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-static", "-o", program, source], check=True)
    assert "linked statically" in refused(*arguments(far=tmp_path / "far", program=program))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.parametrize(
    ("option", "named"), [("address", "AddressSanitizer"), ("thread", "ThreadSanitizer")]
)
def test_a_program_with_a_sanitizer_is_refused(
    refused: Callable[..., str], tmp_path: Path, option: str, named: str
) -> None:
    source, program = tmp_path / "checked.c", tmp_path / "checked"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", f"-fsanitize={option}", "-o", program, source], check=True)
    assert f"is built with {named}" in refused(*arguments(far=tmp_path / "far", program=program))


def test_a_go_program_is_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    program = tmp_path / "go"
    program.write_bytes(Path(sys.executable).resolve().read_bytes() + b"\xff Go buildinf:")
    program.chmod(0o755)
    assert "Go program" in refused(*arguments(far=tmp_path / "far", program=program))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes set-uid programs of others")
def test_a_program_that_changes_its_user_is_refused(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    program = tmp_path / "other"
    shutil.copy("/bin/true", program)
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    assert "set-uid" in refused(*arguments(far=tmp_path / "far", program=program))
