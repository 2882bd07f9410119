"""A guest that QEMU's system mode runs: what QEMU's words say of it, and where its region is."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path

from nearfar.errors import InputError

# What of the machine's life is recorded: all of it, or what lies between two lines that it writes.
INCLUDES = ("boot", "roi")
REGION_BEGIN, REGION_END = b"nearfar region begin", b"nearfar region end"

_DEFAULT_MEMORY = 128 << 20  # QEMU's own
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def refuse_hardware(words: Sequence[str]) -> None:
    for word, after in zip(words, (*words[1:], ""), strict=True):
        fast = word in ("-enable-kvm", "--enable-kvm") or (
            word in ("-accel", "-machine", "-M") and re.search(r"\b(kvm|xen|whpx|hvf)\b", after)
        )
        if fast:
            found = word if "enable" in word else f"{word} {after}"
            raise InputError(
                f"{found}: the processor itself would run the guest, where nothing of "
                "it is seen; expected -accel tcg"
            )


class Clock(Enum):
    """What the guest's clocks and timers follow."""

    host = "host"
    instructions = "instructions"


def clock_of(words: Sequence[str]) -> Clock:
    """As QEMU's words have it."""
    return Clock.instructions if "-icount" in words or "--icount" in words else Clock.host


def check_one_processor(words: Sequence[str]) -> None:
    """Raise InputError if QEMU's `words` give the machine more than one."""
    after = _last(words, "-smp") or "1"
    if any(int(count) != 1 for count in re.findall(r"(?:^|[,=])(\d+)", after)):
        raise InputError(
            f"-smp {after}: only machines of one processor are simulated; expected -smp 1"
        )


def _last(words: Sequence[str], option: str) -> str | None:
    """What follows an option of QEMU, which takes the last; None without one."""
    found = None
    for word, after in zip(words, (*words[1:], ""), strict=True):
        if word in (option, f"-{option}"):
            found = after
    return found


# Options of QEMU whose word is a file.
_FILES = ("-kernel", "-initrd", "-hda", "-hdb", "-hdc", "-hdd", "-cdrom", "-fda", "-fdb", "-bios")


def check_files(words: Sequence[str]) -> None:
    """Raise InputError for an image among QEMU's `words` that is not there."""
    for word, after in zip(words, (*words[1:], ""), strict=True):
        option = f"-{word.lstrip('-')}"
        file = after if option in _FILES else ""
        if option == "-drive" and (found := re.search(r"(?:^|,)file=([^,:]+)(?:,|$)", after)):
            file = found[1]
        if re.match(r"[a-z][a-z0-9+.-]*:", file) or (option == "-initrd" and "," in file):
            continue  # a network's or another format's, or several modules: QEMU's to judge
        # Firmware is looked for in QEMU's own folders as well.
        if file and not Path(file).exists() and not (option == "-bios" and "/" not in file):
            raise InputError(f"{word} {after}: {file}: no such file, expected the guest's image")


def memory_bytes(words: Sequence[str]) -> int:
    """The memory that QEMU's `words` give the machine. Raises InputError if they cannot be read."""
    after = _last(words, "-m")
    if after is None:
        return _DEFAULT_MEMORY
    found = re.fullmatch(r"(?:size=)?(\d+(?:\.\d+)?)([kKmMgGtT]?)(?:,.*)?", after)
    if found is None:
        raise InputError(f"-m {after}: expected a size such as 1G")
    return int(float(found[1]) * _UNITS[found[2].lower() or "m"])


@contextlib.contextmanager
def region(folder: Path, include: str) -> Iterator[Sequence[tuple[int, int]]]:
    """The streams that QEMU is to be given in place of this process's: where a region is recorded,
    its standard output passes through here, and tells where the region begins and ends.
    """
    if include != "roi":
        yield ()
        return
    reading, writing = os.pipe()
    with (folder / "region").open("wb+", buffering=0) as flag:
        flag.write(b"0")
        thread = threading.Thread(target=_watch, args=(reading, flag.fileno()))
        thread.start()
        try:
            yield ((1, writing),)
        finally:
            os.close(writing)
            thread.join()
            os.close(reading)


def _watch(reading: int, flag: int) -> None:
    """Passes on what the guest writes, and looks for the two lines."""
    line = b""
    while piece := os.read(reading, 1 << 16):
        with contextlib.suppress(OSError):  # the reader has gone; the guest runs on
            os.write(1, piece)
        *lines, line = (line + piece).split(b"\n")
        for one in lines:
            word = one.strip()
            if word in (REGION_BEGIN, REGION_END):
                os.pwrite(flag, b"1" if word == REGION_BEGIN else b"0", 0)
        line = line[-len(REGION_BEGIN) * 2 :]
