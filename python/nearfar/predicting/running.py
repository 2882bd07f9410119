"""One run of a program, natively or on a model, under the same conditions."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.errors import NearfarError
from nearfar.results import RunResult, parse

# Extensions for which the C library has functions of their own, and which QEMU does not offer.
MASKED = ("AVX512F", "AVX512VL", "AVX512BW", "AVX512CD", "AVX512DQ", "AVX512ER", "ERMS", "FSRM")

# From these sizes the C library chooses how it copies; it would read them from the processor, and
# QEMU shows another one.
_SIZES = {
    "glibc.cpu.x86_data_cache_size": 32 << 10,
    "glibc.cpu.x86_shared_cache_size": 1 << 20,
    "glibc.cpu.x86_non_temporal_threshold": 3 << 20,
}
_HUGE = "glibc.malloc.hugetlb=1"  # memory is asked for on huge pages (glibc 2.35)

_PR_SET_THP_DISABLE = 41
_ADDR_NO_RANDOMIZE = 0x0040000
_LAST_LINES = 200  # characters of a program's last words


@dataclass(frozen=True)
class Told:
    """What a program tells of its measured steps; `output` depends on the work alone."""

    output: str
    processor_ns: int
    instructions: int
    page_faults: int
    bytes: int
    huge_bytes: int


def tunables(pages: str) -> str:
    """GLIBC_TUNABLES of both sides."""
    found = ["glibc.cpu.hwcaps=" + ",".join(f"-{name}" for name in MASKED)]
    found += [f"{name}={value:#x}" for name, value in _SIZES.items()]
    return ":".join([*found, *([_HUGE] if pages == "huge" else [])])


def environment(pages: str) -> Mapping[str, str]:
    """The program's: little, since it lies on the stack and shifts what is below."""
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR", "HOME") if name in os.environ}
    return {**kept, "LC_ALL": "C", "GLIBC_TUNABLES": tunables(pages)}


def native(words: Sequence[str], pages: str) -> Told:
    """Run a program on one processor of this machine, its addresses as in every other run.

    Raises NearfarError for a program that fails.
    """
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env=environment(pages),
        preexec_fn=_alike(pages), errors="replace",
    )  # fmt: skip
    if done.returncode:
        raise NearfarError(f"fails natively, {_how(done.returncode)}{_last_words(done.stderr)}")
    return _told(done.stdout, done.stderr)


def _alike(pages: str) -> Callable[[], None]:
    """What makes runs alike, set in the new process before it becomes the program."""
    library = ctypes.CDLL(None, use_errno=True)
    processor = max(os.sched_getaffinity(0))

    def prepare() -> None:
        os.sched_setaffinity(0, {processor})
        library.personality(_ADDR_NO_RANDOMIZE)
        if pages == "small":
            library.prctl(_PR_SET_THP_DISABLE, 1, 0, 0, 0)

    return prepare


class Simulation:
    """A program on a model by `nearfar run`, which can be stopped."""

    def __init__(self, target: str, words: Sequence[str], pages: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="nearfar-predict-")
        self._file = Path(self._folder.name) / "run.json"
        command = [sys.executable, "-m", "nearfar", "run", target, "--roi", "--pages", pages]
        command += ["--quiet", "--json", str(self._file), "--", *words]
        inherited = {name: os.environ[name] for name in os.environ if name.startswith("PYTHON")}
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
            env={**inherited, **environment(pages)},
        )  # fmt: skip

    def result(self) -> tuple[Told, RunResult]:
        """Wait for its end. Raises NearfarError for a program that fails."""
        out, err = self._process.communicate()
        with self._folder:
            if self._process.returncode:
                how = _how(self._process.returncode)
                raise NearfarError(f"fails on the model, {how}{_last_words(err)}")
            ran = parse(json.loads(self._file.read_text(encoding="utf-8")))
        assert isinstance(ran, RunResult)
        return _told(out, err), ran

    def stop(self) -> None:
        """End it, if it runs."""
        if self._process.poll() is None:
            self._process.terminate()


def _told(out: str, err: str) -> Told:
    figures = {}
    for line in err.splitlines():
        name, _, value = line.partition(" ")
        if value.isdecimal():
            figures[name] = int(value)
    wanted = [name for name in Told.__dataclass_fields__ if name != "output"]
    absent = [name for name in wanted if name not in figures]
    if absent:
        raise NearfarError(
            f"tells no {absent[0]}: its main() has to be MEASURED_MAIN of measured.h"
        )
    if figures["processor_ns"] == 0:
        raise NearfarError("its measured steps take no time")
    return Told(output=out, **{name: figures[name] for name in wanted})


def _how(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"status {status}"


def _last_words(err: str) -> str:
    lines = [line for line in err.splitlines() if line.strip()]
    return f": {lines[-1][:_LAST_LINES]}" if lines else ""
