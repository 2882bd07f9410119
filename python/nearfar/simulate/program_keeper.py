"""Ends a run's processes when `nearfar` itself is killed, and cannot.

Children of the program that have left it are nobody's children then; but what runs them names the
run's folder on its command line, which no other process does. A process of its own waits for the
end of this one, by a pipe that breaks with it. Run as a program, this file is that process.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def kept(folder: str) -> Iterator[None]:
    """While this lasts, a death of this process ends all that run in `folder`, which is removed."""
    reading, writing = os.pipe()
    command = [sys.executable, "-I", "-S", __file__, folder]
    try:
        # It puts itself into the background: no child of this process's, which waits for all.
        subprocess.run(command, stdin=reading, stdout=subprocess.DEVNULL, check=True)
    finally:
        os.close(reading)
    try:
        yield
    finally:
        with contextlib.suppress(BrokenPipeError):  # somebody has killed it
            os.write(writing, b"!")
        os.close(writing)


def _keep(folder: str) -> None:
    if os.fork() != 0:
        return
    os.setsid()  # no terminal's signals
    if os.read(0, 1):
        return
    while _ended_some(folder):
        time.sleep(0.01)
    shutil.rmtree(folder, ignore_errors=True)


def _ended_some(folder: str) -> bool:
    mark = f",run={folder}".encode()
    found = False
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if any(word.endswith(mark) or mark + b"," in word for word in words):
                os.kill(int(process.name), signal.SIGKILL)
                found = True
    return found


if __name__ == "__main__":
    _keep(sys.argv[1])
