"""What bench/tier.py sets up on the machine, and takes down again whatever happens: swap devices of
its own, a group of processes with limited memory, busy loops.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from nearfar.tier.waiting import held_back

HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
ZRAM = Path("/sys/class/zram-control")
GROUPS_V1 = Path("/sys/fs/cgroup/memory")
GROUPS_V2 = Path("/sys/fs/cgroup")
MIB = 1 << 20


class MissingError(Exception):
    """This machine cannot do something that a contender needs."""


class KilledError(Exception):
    """The kernel ended a program, as its group had no memory left."""


def was_interrupted(failed: BaseException) -> bool:
    """Whether it was on the way out of an interruption that this failed."""
    while failed.__context__ is not None:
        failed = failed.__context__
        if isinstance(failed, KeyboardInterrupt):
            return True
    return False


def _uninterrupted() -> contextlib.AbstractContextManager[Callable[[], None]]:
    """Interruptions wait until this is over, so that everything made is known and taken down.
    A function that is called in a process started here gets them there."""
    return held_back((signal.SIGINT, signal.SIGTERM))


def output_of(
    words: Sequence[str], environment: dict[str, str], before: Callable[[], None] | None
) -> str:
    """What a program prints. If this is interrupted, everything that it started ends with it."""
    with contextlib.ExitStack() as stack:
        restore = stack.enter_context(_uninterrupted())  # or what was started would not be known

        def enter() -> None:
            restore()
            if before is not None:
                before()

        process = stack.enter_context(subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
            preexec_fn=enter, process_group=0,
        ))  # fmt: skip
        try:
            restore()
            output, errors = process.communicate()
        except BaseException:
            # `communicate` gives it a moment, in which it and all that it started may have ended.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode == -signal.SIGKILL:
        raise KilledError("the kernel killed it for lack of memory in its group")
    if process.returncode != 0:
        raise MissingError(errors.strip() or f"ended with {process.returncode}")
    return output


def _command(*words: str | Path) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MissingError(f"{words[0]}: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip()


def _write(path: Path, text: str | int) -> None:
    try:
        path.write_text(str(text))
    except OSError as error:
        raise MissingError(f"{path}: {error.strerror}") from error


@contextlib.contextmanager
def _swap(device: str) -> Iterator[None]:
    _command("mkswap", device)
    with contextlib.ExitStack() as stack:
        with _uninterrupted():
            _command("swapon", "--priority", "32767", device)
            stack.callback(_command, "swapoff", device)
        yield


@contextlib.contextmanager
def zram(size: int, algorithm: str | None = None) -> Iterator[None]:
    """Swap to compressed memory, on a device made for this; by its own choice of algorithm."""
    if not (ZRAM / "hot_add").exists():
        raise MissingError("no zram (modprobe zram)")
    with contextlib.ExitStack() as stack:
        with _uninterrupted():
            try:
                number = (ZRAM / "hot_add").read_text().strip()
            except OSError as error:
                raise MissingError(f"zram: {error.strerror}") from error
            state = Path(f"/sys/block/zram{number}")
            stack.callback(_write, ZRAM / "hot_remove", number)
            stack.callback(_write, state / "reset", 1)
        if algorithm is not None:
            _write(state / "comp_algorithm", algorithm)
        _write(state / "disksize", size)
        with _swap(f"/dev/zram{number}"):
            yield


@contextlib.contextmanager
def _locked(file: int, size: int) -> Iterator[None]:
    """The memory of a file on tmpfs stays in RAM."""
    with mmap.mmap(file, size) as memory:
        with _uninterrupted():
            start = ctypes.c_char.from_buffer(memory)
            failed = ctypes.CDLL(None).mlock(ctypes.byref(start), ctypes.c_size_t(size))
            del start  # which keeps the mapping
        if failed:
            raise MissingError("the memory of a file on tmpfs cannot be locked")
        yield


@contextlib.contextmanager
def loop(size: int) -> Iterator[None]:
    """Swap to a file on tmpfs, through a loop device. The file has its memory beforehand, so that
    it is not charged to the swapping program, and locked: the kernel would swap it to itself,
    and wait for itself for ever.
    """
    with tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="nearfar-bench-") as file:
        os.posix_fallocate(file.fileno(), 0, size)
        with _locked(file.fileno(), size), contextlib.ExitStack() as stack:
            with _uninterrupted():
                device = _command("losetup", "--find", "--show", file.name)
                stack.callback(_command, "losetup", "--detach", device)
            with _swap(device):
                yield


def _remove(group: Path) -> None:
    """Those that were killed leave it soon."""
    for _ in range(200):
        with contextlib.suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.01)
    raise MissingError(f"{group}: its processes do not end")


@contextlib.contextmanager
def limited(limit: int) -> Iterator[Path]:
    """A group whose processes may have so many bytes in RAM; the file that takes their numbers."""
    if (GROUPS_V1 / "memory.limit_in_bytes").exists():
        group, key = GROUPS_V1 / f"nearfar-bench-{os.getpid()}", "memory.limit_in_bytes"
    elif (GROUPS_V2 / "cgroup.controllers").exists():
        group, key = GROUPS_V2 / f"nearfar-bench-{os.getpid()}", "memory.max"
        with contextlib.suppress(MissingError):
            _write(GROUPS_V2 / "cgroup.subtree_control", "+memory")
    else:
        raise MissingError("no memory controller for groups of processes")
    with contextlib.ExitStack() as stack:
        with _uninterrupted():
            try:
                group.mkdir()
            except OSError as error:
                raise MissingError(f"{group}: {error.strerror}") from error
            stack.callback(_remove, group)
        _write(group / key, limit)
        yield group / "cgroup.procs"


@contextlib.contextmanager
def huge_pages() -> Iterator[None]:
    """Every program gets pages of 2 MiB wherever its memory allows, without asking."""
    try:
        before = HUGE_PAGES.read_text().partition("[")[2].partition("]")[0]
    except OSError as error:
        raise MissingError(f"{HUGE_PAGES}: {error.strerror}") from error
    _write(HUGE_PAGES, "always")
    try:
        yield
    finally:
        _write(HUGE_PAGES, before)


@contextlib.contextmanager
def hogs(program: Path, count: int) -> Iterator[None]:
    """So many busy loops."""
    busy = [subprocess.Popen([program, "hog", "0", "1", "0"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()
