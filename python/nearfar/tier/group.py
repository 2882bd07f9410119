"""A control group of a tree's own, whose limit the kernel enforces: the hard stop.

It lies below the group of this process, or, where the kernel allows no group there (a version 2
group with processes in it gives its children no memory controller), below the nearest one above.
Its name says which launcher made it, so that a later one can tell what a killed one has left.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nearfar.tier.process_stat import stat_behind_name

_NAME = re.compile(r"nearfar-(\d+)-(\d+)")
_PROC = Path("/proc")
_NO_LIMIT = -1  # of a version 1 group
_START_FIELD = 19  # of /proc/PID/stat, counted behind the name: when the process began


@dataclass(frozen=True)
class Group:
    """A control group with a memory limit; `unified`: of version 2."""

    folder: Path
    unified: bool

    def enter(self) -> None:
        """Move this process into it."""
        self._write("cgroup.procs", os.getpid())

    def set_limit(self, size_bytes: int) -> None:
        """Let it have so much memory. Raises OSError if the kernel cannot get it down to that."""
        self._write("memory.max" if self.unified else "memory.limit_in_bytes", size_bytes)

    def wait_for_memory(self, wait: bool) -> None:
        """Whether a process that lacks memory waits for some, rather than be killed at once.

        Only groups of version 1 can have it wait. The kernel gives up on a small group whose pages
        are all in use although they could be swapped out; a moment later the monitor has done so.
        """
        if not self.unified:
            self._write("memory.oom_control", int(wait))

    def processes(self) -> list[int]:
        """The processes in it."""
        return [int(word) for word in (self.folder / "cgroup.procs").read_text().split()]

    def kills(self) -> int:
        """How many of its processes the kernel has killed for lack of memory."""
        name = "memory.events" if self.unified else "memory.oom_control"
        for line in (self.folder / name).read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == "oom_kill":
                return int(value)
        return 0

    def remove(self) -> None:
        """Move the processes left in it one up, and remove it."""
        if not self.unified:
            with contextlib.suppress(OSError):
                self.set_limit(_NO_LIMIT)  # wakes those that wait for memory; moving them does not
        for _ in range(100):
            for process in self.processes():
                with contextlib.suppress(OSError):
                    (self.folder.parent / "cgroup.procs").write_text(str(process))
            with contextlib.suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(0.01)  # a process that has just ended may still count

    def _write(self, name: str, value: int) -> None:
        (self.folder / name).write_text(str(value))


@contextlib.contextmanager
def limited(size_bytes: int) -> Iterator[Group | None]:
    """Make a group with that limit, gone afterwards; None where none can be made."""
    group = _make(size_bytes, *found) if (found := memory_controller()) else None
    try:
        yield group
    finally:
        if group is not None:
            group.remove()


def memory_controller(proc: Path = _PROC) -> tuple[Path, Path, bool] | None:
    """The mount, this process's group below it, and whether it is version 2; None without one."""
    own = {}
    for line in _lines(proc / "self/cgroup"):
        _, controllers, path = line.split(":", 2)
        own[controllers] = path
    for line in _lines(proc / "self/mountinfo"):
        fields, _, rest = line.partition(" - ")
        root, mount = fields.split()[3:5]
        kind, _, options = rest.split(maxsplit=2)
        if kind == "cgroup" and "memory" in options.split(","):
            paths = [path for names, path in own.items() if "memory" in names.split(",")]
        elif kind == "cgroup2" and _controls_memory(Path(mount)):
            paths = [own[""]] if "" in own else []
        else:
            continue
        for path in paths:
            inside = path.removeprefix(root) if root != "/" else path
            return Path(mount), Path(mount) / inside.lstrip("/"), kind == "cgroup2"
    return None


def _lines(file: Path) -> list[str]:
    """Of a file that names others, whatever is in their names."""
    return os.fsdecode(file.read_bytes()).removesuffix("\n").split("\n")


def _controls_memory(mount: Path) -> bool:
    try:
        return "memory" in (mount / "cgroup.controllers").read_text().split()
    except OSError:
        return False


def _make(size_bytes: int, mount: Path, own: Path, unified: bool) -> Group | None:
    for parent in (own, *own.parents):
        _remove_stale(parent)
        group = Group(parent / f"nearfar-{os.getpid()}-{_start_of(os.getpid())}", unified)
        with contextlib.suppress(OSError):
            group.folder.mkdir()
            try:
                group.set_limit(size_bytes)
                group.wait_for_memory(True)
            except OSError:
                group.folder.rmdir()
            else:
                return group
        if parent == mount:
            break
    return None


def _remove_stale(parent: Path) -> None:
    """Remove what killed launchers have left, but for groups whose programs still run."""
    for folder in parent.glob("nearfar-*"):
        name = _NAME.fullmatch(folder.name)
        if name and _start_of(int(name[1])) != int(name[2]):
            with contextlib.suppress(OSError):
                unified = (folder / "memory.max").exists()
                Group(folder, unified).wait_for_memory(False)
                folder.rmdir()


def _start_of(process: int) -> int | None:
    try:
        return int(stat_behind_name(_PROC / str(process))[_START_FIELD])
    except OSError:
        return None
