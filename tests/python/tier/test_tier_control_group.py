"""The control group of a tree, as the kernel has it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from nearfar.tier import group as groups

MIB = 1 << 20

# Takes more memory than its group may have once it is told to.
HUNGRY = f"import sys; sys.stdin.read(); bytearray(b'1') * {32 * MIB}"


@pytest.fixture
def group() -> Iterator[groups.Group]:
    """One whose processes wait for memory, and whose pages no other memory takes."""
    found = groups.memory_controller()
    made = groups._make(8 * MIB, *found) if found else None
    if made is None or made.unified:
        pytest.skip("no control group of version 1 can be made")
    (made.folder / "memory.swappiness").write_text("0")
    yield made
    if made.folder.exists():
        made.remove()


def test_a_process_that_waits_for_memory_goes_on_when_its_group_is_removed(
    group: groups.Group,
) -> None:
    with subprocess.Popen([sys.executable, "-c", HUNGRY], stdin=subprocess.PIPE) as process:
        (group.folder / "cgroup.procs").write_text(str(process.pid))
        assert process.stdin is not None
        process.stdin.close()
        while "under_oom 1" not in (group.folder / "memory.oom_control").read_text():
            assert process.poll() is None
        group.remove()
        try:
            assert process.wait(30) == 0
        finally:
            process.kill()
