"""Records what the pagers of a tree tell their policy into a file that they map and append to.

nearfar.results.faults says what is in it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from nearfar.errors import NearfarError
from nearfar.results.faults import HEAD, MAGIC, POLICIES
from nearfar.tier.new_file import create

_MOST_EVENTS = 1 << 29  # 4 GiB of a sparse file


@contextlib.contextmanager
def recorded_faults(name: str | None, policy: str, near_pages: int) -> Iterator[int]:
    """Make the file, and cut it to what it holds in the end: its descriptor; 0 without a name.

    Raises InputError if it is there or cannot be made, NearfarError if events found no room.
    """
    if name is None:
        yield 0
        return
    file = create(name, 0o666)
    try:
        os.ftruncate(file, HEAD.size + 8 * _MOST_EVENTS)
        os.pwrite(file, HEAD.pack(MAGIC, 0, near_pages, POLICIES.index(policy)), 0)
        yield file
    except BaseException:
        os.close(file)
        Path(name).unlink(missing_ok=True)
        raise
    try:
        count = HEAD.unpack(os.pread(file, HEAD.size, 0))[1]
        kept = min(count, _MOST_EVENTS)
        os.ftruncate(file, HEAD.size + 8 * kept)
        os.pwrite(file, HEAD.pack(MAGIC, kept, near_pages, POLICIES.index(policy)), 0)
        if kept < count:
            raise NearfarError(f"{name}: only the first {kept} of {count} events found room")
    finally:
        os.close(file)
