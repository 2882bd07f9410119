"""Ends a run's processes when `nearfar` itself is killed, and cannot.

Children of the program that have left it have no parent in the run then; but the emulator that runs
them names the run's folder on its command line, and no other process does. A process waits for the
end of this one, by a pipe that breaks with it. Run as a program, this file is that process.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Self


class Keeper:
    """A child of this process: when this dies, it ends all that run in `folder`, and removes that.

    Released it ends by itself; leaving the context does that and waits for it.
    """

    def __init__(self, folder: str) -> None:
        reading, self._writing = os.pipe()
        command = [sys.executable, "-I", "-S", __file__, folder]
        try:
            # In a session of its own no terminal's signals reach it.
            self._process = subprocess.Popen(
                command, stdin=reading, stdout=subprocess.DEVNULL, start_new_session=True
            )
        finally:
            os.close(reading)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
        self._process.wait()

    def release(self) -> None:
        """It is not needed any longer."""
        if self._writing < 0:
            return
        with contextlib.suppress(BrokenPipeError):  # it was killed
            os.write(self._writing, b"!")
        os.close(self._writing)
        self._writing = -1


def _keep(folder: str) -> None:
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
