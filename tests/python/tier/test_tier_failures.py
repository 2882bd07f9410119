"""What goes wrong on two tiers ends with a clear message, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nearfar.results.faults import read_faults
from tiered import MIB, PROGRAMS, command, compiled, needs_root, needs_tier, run_tiered

pytestmark = needs_tier

HOLDS = "import sys; held = [str(i) * 20 for i in range({0})]; print(len(''.join(held)))"


@pytest.fixture(scope="module")
def waits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(PROGRAMS / "hazards" / "waits.c", tmp_path_factory.mktemp("tier") / "waits")


class Waiting:
    """A run of a program that holds far memory and waits for a line."""

    def __init__(self, folder: Path, *words: str | Path, far: str = "") -> None:
        self.far = folder / "far"
        self.launcher = subprocess.Popen(
            command("2MiB", far or self.far, *words, result=folder / "result.json"),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.launcher.stdout is not None
        assert self.launcher.stdout.readline() == "far\n"
        self.holder, self.program = map(int, _children(self.launcher.pid))

    def far_file(self) -> Path:
        """The file that has lost its name, by its launcher's descriptor."""
        folder = Path(f"/proc/{self.launcher.pid}/fd")
        return next(fd for fd in folder.iterdir() if str(fd.readlink()).endswith("far (deleted)"))

    def go_on(self) -> tuple[str, str, int]:
        """Send the line; what came until the end."""
        out, err = self.launcher.communicate("\n", timeout=60)
        return out, err, self.launcher.returncode


def _children(process: int) -> list[str]:
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


def on_a_small_disk(
    folder: Path, size: str, words: list[str], after: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command with a file system of that size at `folder`, and before that goes away
    `after`."""
    folder.mkdir()
    script = f'mount -t tmpfs -o size={size} tmpfs "$0" && "$@"; status=$?; {after}\nexit $status'
    ran = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, folder, *words],
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    if "unshare" in ran.stderr or "mount" in ran.stderr:
        pytest.skip(ran.stderr.strip())
    return ran


@contextmanager
def waiting(folder: Path, *words: str | Path, far: str = "") -> Iterator[Waiting]:
    run = Waiting(folder, *words, far=far)
    try:
        yield run
    finally:
        run.launcher.kill()
        with run.launcher:
            pass


@pytest.mark.parametrize("file_system", ["disk", "tmpfs"])
def test_a_far_file_cut_short_ends_the_program_with_the_reason(
    tmp_path: Path, waits: Path, file_system: str
) -> None:
    with (
        tempfile.TemporaryDirectory(dir="/dev/shm") as shared,
        waiting(tmp_path if file_system == "disk" else Path(shared), waits) as run,
    ):
        os.truncate(run.far_file(), 0)
        out, err, status = run.go_on()
    assert (out, status) == ("", 1)
    assert err.startswith("nearfar tier: the far file was cut short")
    assert err.count("\n") == 1


def test_far_memory_without_a_file_cannot_be_cut_short(tmp_path: Path, waits: Path) -> None:
    with waiting(tmp_path, waits, far="anonymous") as run:
        with pytest.raises(PermissionError):
            os.truncate(run.far_file(), 0)
        maps = Path(f"/proc/{run.program}/maps").read_text().splitlines()
        assert [line.split()[1] for line in maps if "memfd:nearfar-far" in line] == ["rw-s"]
        _, err, status = run.go_on()
    assert (err, status) == ("", 0)


def test_the_far_file_has_no_name_while_the_program_runs(tmp_path: Path, waits: Path) -> None:
    with waiting(tmp_path, waits) as run:
        assert not run.far.exists()
        assert run.far_file().stat().st_nlink == 0
        assert run.go_on() == ("ok\n", "", 0)


def test_two_runs_with_the_same_far_name_have_files_of_their_own(
    tmp_path: Path, waits: Path
) -> None:
    with waiting(tmp_path, waits) as first, waiting(tmp_path, waits) as second:
        assert first.far_file().stat().st_ino != second.far_file().stat().st_ino
        assert second.go_on() == ("ok\n", "", 0)
        assert first.go_on() == ("ok\n", "", 0)
    assert not (tmp_path / "far").exists()


def test_a_killed_program_leaves_nothing(tmp_path: Path, waits: Path) -> None:
    with waiting(tmp_path, waits) as run:
        os.kill(run.program, signal.SIGKILL)
        assert run.go_on() == ("", "", 128 + signal.SIGKILL)
        assert not Path(f"/proc/{run.program}").exists()
    assert not (tmp_path / "far").exists()


def test_a_program_goes_on_without_its_launcher_and_keeps_its_memory(
    tmp_path: Path, waits: Path
) -> None:
    with waiting(tmp_path, waits) as run:
        run.launcher.kill()
        run.launcher.wait()
        assert run.go_on()[:2] == ("ok\n", "")
    assert not (tmp_path / "far").exists()


def test_a_program_executed_without_the_launcher_has_its_memory(
    tmp_path: Path, waits: Path
) -> None:
    with waiting(tmp_path, waits, "echo", "reached") as run:
        run.launcher.kill()
        run.launcher.wait()
        assert run.go_on()[:2] == ("ok\nreached\n", "")


def test_a_program_executed_without_the_holder_says_so_and_ends(
    tmp_path: Path, waits: Path
) -> None:
    with waiting(tmp_path, waits, "echo", "not reached") as run:
        holder = os.pidfd_open(run.holder)
        os.kill(run.holder, signal.SIGKILL)
        select.select([holder], [], [])
        os.close(holder)
        out, err, _ = run.go_on()
    assert out == "ok\n"
    assert err.startswith("nearfar tier: the launcher of this program is gone")
    assert err.count("\n") == 1


@needs_root
def test_a_disk_that_is_full_ends_the_record_of_faults_and_not_the_program(tmp_path: Path) -> None:
    words = command(
        "2MiB", tmp_path / "far", sys.executable, "-c", HOLDS.format(900000),
        result=tmp_path / "result.json",
        options=["--record-faults", str(tmp_path / "small" / "faults")],
    )  # fmt: skip
    keep = 'cp "$0/faults" "$0.faults"'
    ran = on_a_small_disk(tmp_path / "small", "256k", words, keep)
    assert ran.stdout != ""
    assert ran.returncode == 0
    assert re.search(r"faults: only the first \d+ of \d+ events found room\n$", ran.stderr)
    kept = read_faults(tmp_path / "small.faults")
    assert 200 << 10 <= 8 * len(kept.words) <= 256 << 10


@needs_root
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv")
def test_a_program_that_executes_another_as_another_user_is_told(tmp_path: Path) -> None:
    ran = run_tiered(tmp_path, "2MiB", "setpriv", "--reuid=65534", "--clear-groups", "/bin/true")
    assert ran.status == 1
    assert ran.err.startswith("nearfar tier: this program runs as another user than its launcher")
    assert ran.err.count("\n") == 1


def test_a_shell_may_start_more_programs_than_a_tree_has_places_for(tmp_path: Path) -> None:
    script = "i=0; while [ $i -lt 600 ]; do /bin/true || exit 9; i=$((i + 1)); done; echo $i"
    ran = run_tiered(tmp_path, "16MiB", "sh", "-c", script)
    assert (ran.out, ran.err, ran.status) == ("600\n", "", 0)


@needs_root
def test_a_file_system_that_is_full_ends_the_program_with_the_reason(tmp_path: Path) -> None:
    words = command(
        "2MiB", tmp_path / "small" / "far", sys.executable, "-c", HOLDS.format(90000),
        result=tmp_path / "result.json",
    )  # fmt: skip
    ran = on_a_small_disk(tmp_path / "small", "2M", words)
    assert (ran.stdout, ran.returncode) == ("", 1)
    assert ran.stderr.startswith("nearfar tier: the far file is full; give --far more room")
    assert ran.stderr.count("\n") == 1


def run_without_rights(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs it as a user that may read everything, as the checkout may be root's, but not write."""
    if Path("/proc/sys/vm/unprivileged_userfaultfd").read_text().strip() != "0":
        pytest.skip("every user may use userfaultfd here")
    readers = [f"--{kind}-caps=+dac_read_search" for kind in ("inh", "ambient")]
    unprivileged = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *readers]
    tmp_path.chmod(0o777)
    return subprocess.run(
        [*unprivileged, *words], capture_output=True, text=True, check=False, timeout=60
    )


@needs_root
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv")
def test_a_user_without_permission_is_told_what_to_do(tmp_path: Path) -> None:
    ran = run_without_rights(
        tmp_path, *command("8MiB", tmp_path / "far", "true", result=tmp_path / "result.json")
    )
    assert (ran.stdout, ran.returncode) == ("", 1)
    assert "userfaultfd is not permitted to this user" in ran.stderr
    assert "unprivileged_userfaultfd=1" in ran.stderr
    assert "--sigbus" in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert not (tmp_path / "far").exists()


@needs_root
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv")
def test_a_user_without_permission_may_run_where_system_calls_do_not_wait() -> None:
    with tempfile.TemporaryDirectory() as name:  # where that user may execute something
        folder = Path(name)
        program = compiled(PROGRAMS / "hazards" / "sigbus.c", folder / "sigbus")
        result, far = folder / "result.json", folder / "far"
        words = command("2MiB", far, program, result=result, options=["--sigbus"])
        ran = run_without_rights(folder, *words)
        assert ran.stdout == "ok\n", ran.stderr
        counts = json.loads(result.read_text())
    assert counts["evictions"] > 1000
    assert counts["near_peak_bytes"] <= 3 * MIB


@pytest.fixture
def small_group() -> Iterator[str]:
    """A control group with 64 MiB of memory and no swap: a shell word that enters it."""
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    of = {controllers: path.lstrip("/") for _, controllers, path in lines}
    root = Path("/sys/fs/cgroup")
    parent, limit, no_swap = root / of.get("", ""), "memory.max", "memory.swap.max"
    if "memory" in of:
        parent, limit = root / "memory" / of["memory"], "memory.limit_in_bytes"
        no_swap = "memory.swappiness"
    group = parent / f"nearfar-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")
    try:
        (group / limit).write_text(str(64 << 20))
        (group / no_swap).write_text("0")
        yield f"echo 0 > '{group}/cgroup.procs'"
    except OSError as error:
        pytest.skip(f"no control group for memory: {error}")
    finally:
        group.rmdir()


@needs_root
def test_a_program_that_the_kernel_kills_for_lack_of_memory_is_told_apart(
    tmp_path: Path, small_group: str
) -> None:
    holds = compiled(PROGRAMS / "hazards" / "holds_much.c", tmp_path / "holds")
    ran = run_tiered(tmp_path, "256MiB", "sh", "-c", f'{small_group} && exec "$0"', holds)
    assert (ran.out, ran.status) == ("", 128 + signal.SIGKILL)
    assert "for lack of memory" in ran.err
    assert "--near" in ran.err
    assert ran.err.count("\n") == 1


def test_a_signal_just_as_the_program_starts_reaches_it(tmp_path: Path) -> None:
    """Sent by the launcher itself before it waits, and not held back in the program."""
    code = """
import os, signal, subprocess, sys
from nearfar.tier import launch

class Started(subprocess.Popen):
    def __init__(self, *words, **settings):
        super().__init__(*words, **settings)
        if words[0] == ["sleep", "600"]:
            os.kill(os.getpid(), signal.SIGTERM)

subprocess.Popen = Started
ran = launch.run(sys.argv[1], ["sleep", "600"], dynamic=True, near_bytes=2 << 20, far=sys.argv[2])
print(ran.status)
"""
    sleep = shutil.which("sleep")
    assert sleep is not None
    words = [sys.executable, "-c", code, sleep, tmp_path / "far"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert ran.stdout == f"{128 + signal.SIGTERM}\n", ran.stderr
    assert not (tmp_path / "far").exists()
