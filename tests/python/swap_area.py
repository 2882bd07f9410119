"""A swap area for tests, which disappears with them: a zram device of their own."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

_CONTROL = Path("/sys/class/zram-control")
_SIZE = 512 << 20


@contextlib.contextmanager
def swap_area() -> Iterator[str]:
    """Turn a swap area on; yields why it could not be, or nothing."""
    if os.geteuid() != 0:
        yield "only root turns swap on"
        return
    for tool in ("mkswap", "swapon", "swapoff"):
        if _which(tool) is None:
            yield f"no {tool}"
            return
    with contextlib.ExitStack() as undo:
        try:
            _turn_on(undo)
        except (OSError, subprocess.CalledProcessError) as error:
            yield f"no swap area on zram can be made here: {error}"
            return
        yield ""


def _turn_on(undo: contextlib.ExitStack) -> None:
    number = (_CONTROL / "hot_add").read_text().strip()
    undo.callback((_CONTROL / "hot_remove").write_text, number)
    settings = Path(f"/sys/block/zram{number}")
    (settings / "disksize").write_text(str(_SIZE))
    undo.callback((settings / "reset").write_text, "1")
    device = f"/dev/zram{number}"
    _run("mkswap", device)
    _run("swapon", "--priority", "100", device)
    undo.callback(_run, "swapoff", device)


def _run(tool: str, *words: str) -> None:
    subprocess.run([_which(tool) or tool, *words], check=True, capture_output=True)


def _which(tool: str) -> str | None:
    return shutil.which(tool, path=os.environ.get("PATH", "") + ":/sbin:/usr/sbin")
