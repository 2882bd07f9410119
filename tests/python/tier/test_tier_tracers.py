"""Tracers and debuggers that stop all threads of a program do not make it wait for ever."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tiered import PROGRAMS, SLOWER, command, compiled, needs_tier, run_tiered

pytestmark = needs_tier
needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="no strace")
WRITTEN = f"{32 << 20}"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traced")
    return compiled(PROGRAMS / "hazards" / "hands_on.c", folder / "hands_on")


@dataclass
class Running:
    """A program that hands far memory to system calls until it is told to end."""

    launcher: subprocess.Popen[str]
    process: int

    def end(self) -> str:
        return self.launcher.communicate("\n", timeout=60 * SLOWER)[0]

    def pager(self) -> int:
        """The number of the process's own tracer once it has one, as when pages are far."""
        deadline = time.monotonic() + 60 * SLOWER
        while time.monotonic() < deadline:
            for thread in Path(f"/proc/{self.process}/task").iterdir():
                tracer = (thread / "status").read_text().split("TracerPid:\t")[1].split("\n")[0]
                if tracer != "0":
                    return int(tracer)
        raise AssertionError("no thread of the pager is traced")


@pytest.fixture
def running(program: Path, tmp_path: Path) -> Iterator[Running]:
    words = command("8MiB", "anonymous", program, result=tmp_path / "result.json")
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as launcher:
        assert launcher.stdout is not None
        started = Running(launcher, int(launcher.stdout.readline()))
        try:
            started.pager()
            yield started
        finally:
            if launcher.poll() is None:
                os.kill(started.process, signal.SIGKILL)


@needs_strace
def test_a_program_runs_inside_strace_of_all_its_threads(tmp_path: Path, program: Path) -> None:
    ran = run_tiered(tmp_path, "8MiB", "strace", "-f", "-o", "/dev/null", program, "2")
    assert (ran.out.split("\n")[1], ran.status) == (WRITTEN, 0)
    assert ran.counts["evictions"] > 0


@needs_strace
def test_a_program_runs_while_its_launcher_is_traced_with_it(tmp_path: Path, program: Path) -> None:
    words = command("8MiB", "anonymous", program, "2", result=tmp_path / "result.json")
    traced = ["strace", "-f", "-o", "/dev/null", *words]
    ran = subprocess.run(traced, capture_output=True, text=True, check=True, timeout=120 * SLOWER)
    assert ran.stdout.split("\n")[1] == WRITTEN


@needs_strace
def test_a_tracer_that_attaches_to_all_threads_reads_far_memory(
    tmp_path: Path, running: Running
) -> None:
    calls = tmp_path / "calls"
    os.mkfifo(calls)
    words = ["strace", "-f", "-e", "trace=write", "-o", calls, "-p", str(running.process)]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as strace:
        with calls.open() as lines:
            seen = [lines.readline() for _ in range(2000)]
        strace.send_signal(signal.SIGINT)
    assert sum("write(" in line for line in seen) > 1900
    assert running.end() == f"{WRITTEN}\n"


@pytest.mark.skipif(shutil.which("gdb") is None, reason="no gdb")
def test_a_debugger_attaches_while_all_pages_are_kept_near(running: Running) -> None:
    def tier(*words: str) -> None:
        subprocess.run(
            [sys.executable, "-m", "nearfar", "tier", *words, str(running.process)],
            check=True, capture_output=True, timeout=60 * SLOWER,
        )  # fmt: skip

    tier("set", "--near", "64MiB")
    tier("pause", "--resident")
    words = ["gdb", "-nx", "-batch", "-p", str(running.process), "-ex", "info threads"]
    gdb = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60 * SLOWER)
    assert f"(LWP {running.process})" in gdb.stdout, gdb.stdout + gdb.stderr
    assert "Cannot attach" not in gdb.stderr
    tier("resume")
    running.pager()
    assert running.end() == f"{WRITTEN}\n"


def test_a_stopped_program_goes_on_with_its_traced_pager(running: Running) -> None:
    os.kill(running.process, signal.SIGSTOP)
    os.kill(running.process, signal.SIGCONT)
    assert running.end() == f"{WRITTEN}\n"
    assert running.launcher.returncode == 0


def test_a_program_executes_another_while_its_pager_is_traced(
    tmp_path: Path, program: Path
) -> None:
    code = f"import os; held = bytes(range(256)) * 131072; os.execv('{program}', ['p', '1'])"
    ran = run_tiered(tmp_path, "8MiB", sys.executable, "-c", code)
    assert (ran.out.split("\n")[1], ran.status) == (WRITTEN, 0)
