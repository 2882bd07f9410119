"""What the kernel tells of a process, or of a thread, in a line."""

from __future__ import annotations

from pathlib import Path


def stat_behind_name(folder: Path) -> list[bytes]:
    """The fields of `folder`/stat behind the name, which may hold anything: the state is the first.
    `folder` is that of a process or thread in /proc. Raises OSError if it has ended."""
    return (folder / "stat").read_bytes().rpartition(b")")[2].split()
