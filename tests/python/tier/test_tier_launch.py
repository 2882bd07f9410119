"""A program on two tiers gets from its launcher what it would get natively: descriptors, signals
and what is ignored of them."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nearfar.results.faults import read_faults
from nearfar.tier.client import find
from tiered import MIB, command, native, needs_tier, run_tiered

pytestmark = needs_tier

# Says which of these signals come, one a line, until SIGTERM does.
HEARS = """
import signal
heard = [signal.SIGINT, signal.SIGQUIT, signal.SIGALRM, signal.SIGTERM, signal.SIGWINCH]
signal.pthread_sigmask(signal.SIG_BLOCK, heard)
print("ready", flush=True)
came = None
while came != signal.SIGTERM:
    came = signal.Signals(signal.sigwaitinfo(heard).si_signo)
    print(came.name, flush=True)
"""
LOWEST = "ls -l /proc/self/fd | awk '$9 ~ /^[0-9]+$/ && $9 < 900 {print $9}'"


def test_descriptors_that_the_launcher_was_given_reach_the_program(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("what is in it\n")
    with (tmp_path / "file").open() as file:
        given = file.fileno()
        ran = run_tiered(tmp_path, "8MiB", "cat", f"/proc/self/fd/{given}", pass_fds=(given,))
    assert (ran.out, ran.err, ran.status) == ("what is in it\n", "", 0)


@pytest.mark.parametrize("far", ["file", "anonymous"])
def test_descriptors_of_the_launcher_itself_do_not(tmp_path: Path, far: str) -> None:
    options = ("--far", "anonymous") if far == "anonymous" else ()
    log = ("--record-faults", str(tmp_path / "log"))
    ran = run_tiered(tmp_path, "8MiB", "sh", "-c", LOWEST, options=(*options, *log))
    assert ran.out == native("sh", "-c", LOWEST)


@pytest.mark.parametrize("ignored", ["", "PIPE", "XFSZ", "PIPE XFSZ HUP INT"])
def test_signals_that_were_ignored_stay_so_and_no_others(tmp_path: Path, ignored: str) -> None:
    words = ["grep", "^Sig[IB]", "/proc/self/status"]
    trap = f"trap '' {ignored}; " if ignored else ""
    shell = ["sh", "-c", trap + '"$@"; exit $?', "sh"]
    launched = command("8MiB", tmp_path / "far", *words, result=tmp_path / "result.json")
    assert native(*shell, *launched) == native(*shell, *words)


def test_a_status_is_told_though_ends_of_children_are_ignored(tmp_path: Path) -> None:
    launched = command("8MiB", tmp_path / "far", "sh", "-c", "exit 7", result=tmp_path / "json")
    code = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
    words = [sys.executable, "-c", f"{code}; os.execv(sys.argv[1], sys.argv[1:])", *launched]
    assert subprocess.run(words, check=False, timeout=60).returncode == 7


@pytest.mark.parametrize("name", ["SIGINT", "SIGQUIT", "SIGWINCH", "SIGALRM"])
def test_a_signal_sent_to_the_launcher_reaches_the_program(tmp_path: Path, name: str) -> None:
    words = command("64MiB", tmp_path / "far", sys.executable, "-c", HEARS, result=tmp_path / "r")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as launcher:
        assert launcher.stdout is not None
        assert launcher.stdout.readline() == "ready\n"
        launcher.send_signal(signal.Signals[name])
        assert launcher.stdout.readline() == f"{name}\n"
        launcher.send_signal(signal.SIGTERM)
        assert launcher.communicate(timeout=60)[0] == "SIGTERM\n"
    assert launcher.returncode == 0


def test_a_signal_that_ends_the_program_ends_the_launcher_with_its_status(tmp_path: Path) -> None:
    words = ["sh", "-c", "echo ready; exec sleep 600"]
    launched = command("8MiB", tmp_path / "far", *words, result=tmp_path / "json")
    with subprocess.Popen(launched, stdout=subprocess.PIPE, text=True) as launcher:
        assert launcher.stdout is not None
        launcher.stdout.readline()
        launcher.send_signal(signal.SIGINT)
        assert launcher.wait(timeout=60) == 128 + signal.SIGINT


def test_a_signal_of_the_terminal_reaches_the_program_once(tmp_path: Path) -> None:
    words = command("64MiB", tmp_path / "far", sys.executable, "-c", HEARS, result=tmp_path / "r")
    launcher, terminal = pty.fork()
    if launcher == 0:
        os.execv(words[0], words)
    with os.fdopen(terminal, "r+b", buffering=0) as lines:
        assert lines.readline().strip() == b"ready"
        lines.write(b"\x03")
        while (line := lines.readline().strip()) == b"^C":
            pass
        assert line.endswith(b"SIGINT")
        # Passed on, SIGINT would come first: it is the lower one.
        os.kill(launcher, signal.SIGTERM)
        assert lines.readline().strip() == b"SIGTERM"
        assert os.waitstatus_to_exitcode(os.waitpid(launcher, 0)[1]) == 0


def test_a_signal_to_its_own_group_reaches_the_program_once(tmp_path: Path) -> None:
    code = """
import os, signal, subprocess
heard = [signal.SIGINT, signal.SIGUSR1]
signal.pthread_sigmask(signal.SIG_BLOCK, heard)
os.killpg(0, signal.SIGINT)
print(signal.sigwait(heard).name, flush=True)
# What another sends is passed on, behind the other signal if that were, too.
subprocess.run(["kill", "-USR1", str(os.getppid())], check=True)
print(signal.sigwait([signal.SIGUSR1]).name, signal.sigpending())
"""
    ran = run_tiered(tmp_path, "64MiB", sys.executable, "-c", code, start_new_session=True)
    assert (ran.out, ran.status) == ("SIGINT\nSIGUSR1 set()\n", 0)


# Starts what reads a line and then executes another program, says its number, and ends meanwhile.
LEAVES = """
import os, subprocess
other = subprocess.Popen(["sh", "-c", "read line; echo before; /bin/echo after; true"])
print(other.pid, flush=True)
os._exit(3)
"""


@pytest.fixture
def left(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A launcher whose program has ended, and the number of a process that it has left."""
    words = command("8MiB", tmp_path / "far", sys.executable, "-c", LEAVES, result=tmp_path / "r")
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as launcher:
        assert launcher.stdout is not None
        other = int(launcher.stdout.readline())
        assert launcher.wait(timeout=60) == 3
        yield launcher, other


Left = tuple[subprocess.Popen[str], int]


def test_processes_left_behind_may_execute_others(left: Left) -> None:
    launcher, _ = left
    assert launcher.communicate("\n", timeout=60) == ("before\nafter\n", "")


def test_processes_left_behind_follow_orders_and_leave_nothing(left: Left) -> None:
    launcher, other = left
    tree = find(other)
    assert tree.ask(do="set", near_bytes=4 * MIB)["near_limit_bytes"] == 4 * MIB
    ended = os.pidfd_open(tree.process)
    launcher.communicate("\n", timeout=60)
    assert select.select([ended], [], [], 60)[0] == [ended]
    os.close(ended)


def test_nothing_stays_behind_a_program_that_leaves_nothing(tmp_path: Path) -> None:
    code = "import os; print(os.environ['NEARFAR_TIER'].split(':')[0])"
    ran = run_tiered(tmp_path, "64MiB", sys.executable, "-c", code)
    assert not Path(f"/proc/{int(ran.out)}").exists()


def test_processes_left_behind_stop_recording_faults_and_go_on(tmp_path: Path) -> None:
    log = tmp_path / "faults"
    code = """
import os
if os.fork() == 0:
    input()
    held = bytearray(32 << 20)
    print(sum(held[::4096]))
"""
    options = ("--record-faults", str(log))
    words = [sys.executable, "-c", code]
    launched = command("8MiB", tmp_path / "far", *words, result=tmp_path / "r", options=options)
    with subprocess.Popen(
        launched, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as launcher:
        assert launcher.wait(timeout=60) == 0
        recorded = log.read_bytes()
        assert launcher.communicate("\n", timeout=60)[0] == "0\n"
    assert read_faults(log).near_pages == 8 * MIB // 4096
    assert log.read_bytes() == recorded
