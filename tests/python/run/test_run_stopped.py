"""SIGTERM to `nearfar run` ends it, whatever its program does, with what is known so far; and no
run waits for what is not its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Compile, Run, needs_front_end
from nearfar.results import RunResult, parse

pytestmark = needs_front_end

HEAD = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile char area[1024 * 4096] __attribute__((aligned(4096)));
static void ready(void) { puts("ready"); fflush(stdout); }
"""

# Programs that would go on for ever, and do not listen.
DEAF = {
    "computes": "signal(SIGTERM, SIG_IGN); ready(); for (volatile long i = 0;; ++i) {}",
    "waits": "signal(SIGTERM, SIG_IGN); ready(); for (;;) pause();",
    "thrashes": "signal(SIGTERM, SIG_IGN); ready();\n"
    "for (unsigned long at = 1;; at = at * 6364136223846793005UL + 1442695040888963407UL)\n"
    "  ++area[(at >> 33) % sizeof area];",
    "forks": "signal(SIGTERM, SIG_IGN); if (fork() != 0) ready();\n"
    "for (volatile long i = 0;; ++i) {}",
}


def stopped(
    compiled: Compile, folder: Path, name: str, *options: str, number: int = signal.SIGTERM
) -> tuple[int, str, RunResult]:
    """The exit status, what was said, and the result of a run that was told to end."""
    program = compiled(name, f"{HEAD}int main(void) {{ {DEAF[name]} }}\n")
    out = folder / "out.json"
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "nearfar", "run", "model:optane-tiered"),
            *("--json", str(out), *options, "--", str(program)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    _, said = process.communicate(timeout=100)
    document = parse(json.loads(out.read_text()))
    assert isinstance(document, RunResult)
    return process.returncode, said, document


@pytest.mark.parametrize("name", DEAF)
def test_a_program_that_ignores_sigterm_is_stopped_with_the_result_so_far(
    compiled: Compile, tmp_path: Path, name: str
) -> None:
    status, said, result = stopped(compiled, tmp_path, name)
    assert status == 128 + signal.SIGTERM
    assert "SIGTERM stopped what the program did not end by itself" in said
    assert result.interrupted
    assert len(result.processes) == (2 if name == "forks" else 1)
    for process in result.processes:
        assert process.finished
        assert process.machine is not None
    assert result.counts["instructions"] > 1000


def test_a_sampled_program_is_stopped_between_windows_too(
    compiled: Compile, tmp_path: Path
) -> None:
    status, _, result = stopped(compiled, tmp_path, "computes", "--sample", "100k")
    assert status == 128 + signal.SIGTERM
    assert result.interrupted
    sampled = result.processes[0].sampled
    assert sampled is not None
    assert sampled.instructions > 1000


def test_a_policy_that_thrashes_is_stopped_too(compiled: Compile, tmp_path: Path) -> None:
    options = ("--place", "oracle:fifo", "--near", "84KiB")
    status, _, result = stopped(compiled, tmp_path, "thrashes", *options)
    assert status == 128 + signal.SIGTERM
    machine = result.processes[0].machine
    assert machine is not None
    assert machine.memory.lines_moved == 64 * machine.memory.pages_moved


def test_a_program_that_listens_ends_as_it_likes(compiled: Compile) -> None:
    program = compiled(
        "listens",
        HEAD + "static void end(int s) { (void)s; _exit(7); }\n"
        "int main(void) { signal(SIGTERM, end); ready(); for (;;) pause(); }\n",
    )
    process = subprocess.Popen(
        [*(sys.executable, "-m", "nearfar", "run", "model:ddr4-2666", "--core", "count", "--"),
         str(program)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=100)
    assert process.returncode == 7
    assert "stopped" not in said


def test_a_run_neither_waits_for_children_that_were_there_before_nor_takes_their_status(
    nearfar: Run,
) -> None:
    running = subprocess.Popen(["sleep", "1000"])
    ended = subprocess.Popen(["false"])
    try:
        assert nearfar("run", "model:ddr4-2666", "--", "/bin/true")[0] == 0
        assert running.poll() is None
        assert ended.wait() == 1
    finally:
        running.kill()
        running.wait()
