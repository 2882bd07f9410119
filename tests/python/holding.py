"""A program on two tiers that holds 24 MiB and tells their sum, for tests that look at it."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

MIB = 1 << 20
HELD = 24 * MIB

# Prints where its memory is, then its sum for each line that it reads.
HOLDS = f"""
import ctypes, hashlib, mmap, os, random, sys
held = mmap.mmap(-1, {HELD}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, {HELD}, 1 << 20):
    held[at:at + (1 << 20)] = random.Random(at).randbytes(1 << 20)
ends, kept = os.pipe()
for child in range(int(sys.argv[1])):
    if os.fork() == 0:
        os.close(kept)
        for at in range(0, {HELD}, 4096):
            held[at] = child
        os.write(1, b"child\\n")
        os.read(ends, 1)  # until the parent ends
        os._exit(0)
print(os.getpid(), ctypes.addressof(ctypes.c_char.from_buffer(held)), flush=True)
while sys.stdin.readline():
    print(hashlib.sha1(held).hexdigest(), flush=True)
"""


class Holding:
    """A program that runs on two tiers and holds 24 MiB."""

    def __init__(self, launcher: subprocess.Popen[str], children: int) -> None:
        self.launcher = launcher
        self.pid = launcher.pid
        lines = [self._line().split() for _ in range(children + 1)]
        (words,) = (words for words in lines if words != ["child"])
        self.process, self.at = int(words[0]), int(words[1])

    def _line(self) -> str:
        assert self.launcher.stdout is not None
        return self.launcher.stdout.readline()

    def sum(self) -> str:
        """The sum of all that it holds, for which it touches all of it."""
        assert self.launcher.stdin is not None
        self.launcher.stdin.write("\n")
        self.launcher.stdin.flush()
        return self._line().strip()

    def end(self) -> int:
        assert self.launcher.stdin is not None
        self.launcher.stdin.close()
        return self.launcher.wait(timeout=60)


Start = Callable[..., Holding]


@contextmanager
def holdings(sockets: Path, folder: Path) -> Iterator[Start]:
    """Starts the program with so many MiB of near memory, and ends all that were started."""
    launched: list[Holding] = []
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(sockets)}

    def begin(near: int, *options: str, children: int = 0) -> Holding:
        words = [sys.executable, "-m", "nearfar", "tier", "run", "--near", f"{near}MiB", "--far",
                 str(folder / f"far{len(launched)}"), *options,
                 "--", sys.executable, "-c", HOLDS, str(children)]  # fmt: skip
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=environment)  # fmt: skip
        launched.append(Holding(process, children))
        return launched[-1]

    yield begin
    for holding in launched:
        assert holding.launcher.stdin is not None
        holding.launcher.stdin.close()
        holding.launcher.__exit__(None, None, None)


def the_sum() -> str:
    """Of what the program holds."""
    whole = hashlib.sha1()
    for at in range(0, HELD, MIB):
        whole.update(random.Random(at).randbytes(MIB))
    return whole.hexdigest()
