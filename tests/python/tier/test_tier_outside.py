"""Programs that run outside the limit, as the library is not in them, are counted."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tiered import needs_root, needs_tier, run_tiered

pytestmark = needs_tier

HELLO = '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n'


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `linked` and `static`, scripts of these (`by_linked`, `by_static`) and one
    of the script `by_static`."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "hello.c").write_text(HELLO)
    for name, options in (("linked", ()), ("static", ("-static",))):
        subprocess.run(["gcc", *options, "-o", folder / name, folder / "hello.c"], check=True)
        script = folder / f"by_{name}"
        script.write_text(f"#! {folder}/{name}\n")
        script.chmod(0o755)
    again = folder / "by_by_static"
    again.write_text(f"#!{folder}/by_static\n")
    again.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("script", "outside"),
    [
        ("linked; by_linked", 0),
        ("static; linked", 1),
        ("by_static; by_by_static", 2),
        ("env -i $(command -v linked)", 1),
        ("env -u LD_PRELOAD $(command -v linked); env A=b linked", 1),
        ("nowhere/to/be/found; linked", 0),
    ],
)
def test_programs_without_the_library_that_a_shell_executes_are_counted(
    programs: Path, tmp_path: Path, script: str, outside: int
) -> None:
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    ran = run_tiered(tmp_path, "16MiB", "sh", "-c", f"{script}; true", env=environment)
    assert ran.counts["outside"] == outside
    assert ran.out == "hello\n" * (script.count("linked") + script.count("static"))


@pytest.mark.parametrize(
    ("call", "outside"),
    [
        ("subprocess.run([static])", 1),
        ("subprocess.run([static], close_fds=False)", 1),  # by posix_spawn or vfork
        ("subprocess.run([linked], env={})", 1),
        ("os.waitpid(os.posix_spawn(static, ['static'], os.environ), 0)", 1),
        ("os.waitpid(os.posix_spawnp('static', ['static'], os.environ), 0)", 1),
        ("os.waitpid(os.posix_spawnp('linked', ['linked'], os.environ), 0)", 0),
        ("os.execv(static, ['static'])", 1),
        ("os.execvpe('static', ['static'], os.environ)", 1),
        ("os.execve(linked, ['linked'], dict(os.environ))", 0),
    ],
)
def test_every_call_that_executes_a_program_without_the_library_is_counted(
    programs: Path, tmp_path: Path, call: str, outside: int
) -> None:
    folder = f"folder = {str(programs)!r}"
    names = "static, linked = folder + '/static', folder + '/linked'"
    code = f"import os, subprocess; {folder}; {names}; os.environ['PATH'] = folder; {call}"
    ran = run_tiered(tmp_path, "64MiB", sys.executable, "-c", code)
    assert (ran.out, ran.counts["outside"]) == ("hello\n", outside)


@needs_root
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv")
def test_a_program_of_another_user_is_counted(programs: Path, tmp_path: Path) -> None:
    program = tmp_path / "other"
    shutil.copy(programs / "linked", program)
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    ran = run_tiered(tmp_path, "16MiB", "sh", "-c", f"{program}; true")
    assert (ran.out, ran.counts["outside"]) == ("hello\n", 1)


def report(words: Sequence[str | Path], folder: Path) -> str:
    run = [sys.executable, "-m", "nearfar", "tier", "run", "--near", "16MiB", "--far"]
    return subprocess.run(
        [*run, folder / "far", "--", *words], capture_output=True, text=True, check=True
    ).stderr


def test_a_line_of_the_report_says_how_many_ran_outside(programs: Path, tmp_path: Path) -> None:
    said = report(["sh", "-c", f"{programs}/static; true"], tmp_path).splitlines()
    assert said[-1].startswith("nearfar tier: 1 of the programs that it executed ran outside")
    assert not any(
        "outside" in line for line in report([programs / "linked"], tmp_path).split("\n")
    )
