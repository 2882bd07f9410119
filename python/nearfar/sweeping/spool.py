"""A folder through which a sweep and workers on other machines exchange work and results.

    waiting/000012        a chunk: tasks that no worker has taken yet
    taken/000012.7_3      the same, which worker 7_3 has taken; renaming is what takes it
    done/000012-0         outcomes of a chunk's first tasks, and further parts until it is whole
    refused               why a worker will not work for this sweep
    alive                 touched by the sweep; workers of one that is gone end by themselves

Files appear whole, by renaming, so that the folder may lie on a network's file system. Only the
sweep and its workers may enter it.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.errors import NearfarError
from nearfar.sweeping.points import Outcome, Task, WrongVersionError, perform

_FLUSH_S = 1.0  # a worker keeps outcomes at most so long
_IDLE_S = 0.1  # between two looks of a worker that has nothing to do
_PLACES = ("waiting", "taken", "done")


@dataclass(frozen=True)
class Part:
    """Outcomes of a chunk, in the order of its tasks, and the seconds that they took."""

    chunk: str
    outcomes: Sequence[Outcome]
    seconds: float


class Spool:
    """The sweep's end."""

    def __init__(self, parent: Path) -> None:
        """Make a folder in `parent`. Raises OSError."""
        self.folder = Path(tempfile.mkdtemp(prefix="nearfar-slurm-", dir=parent)).absolute()
        for place in _PLACES:
            (self.folder / place).mkdir()
        self._chunks = 0
        self.beat()

    def offer(self, tasks: Sequence[Task]) -> str:
        """Lay out a chunk for any worker; its name."""
        name = f"{self._chunks:06d}"
        self._chunks += 1
        _write(self.folder / "waiting" / name, list(tasks))
        return name

    def collect(self) -> list[Part]:
        """What was done since the last time. Raises WrongVersionError where a worker refuses."""
        refusal = self.folder / "refused"
        if refusal.exists():
            raise WrongVersionError(refusal.read_text(encoding="utf-8"))
        parts: list[Part] = []
        for file in sorted((self.folder / "done").iterdir()):
            if not file.name.endswith(_UNFINISHED):
                parts.append(pickle.loads(file.read_bytes()))
                file.unlink()
        return parts

    def taken_by(self, worker: str) -> list[str]:
        """The chunks that a worker has taken and not ended."""
        names = (file.name.split(".", 1) for file in (self.folder / "taken").iterdir())
        return sorted(chunk for chunk, taker in names if taker == worker)

    def forget(self, chunk: str) -> None:
        """Remove a chunk that has ended, or whose worker has."""
        for file in (self.folder / "taken").glob(f"{chunk}.*"):
            file.unlink(missing_ok=True)

    def beat(self) -> None:
        """Tell workers that the sweep is there."""
        (self.folder / "alive").touch()

    def close(self) -> None:
        """Remove the folder; workers that still run end."""
        shutil.rmtree(self.folder, ignore_errors=True)


def serve_array_task(folder: str, version: str, patience_s: float) -> None:
    """`serve`, as the task of a job array, named as Slurm names it."""
    # submitit's handlers would have it outlive scancel, and call its time limit another error.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    array, task = (os.environ.get(f"SLURM_ARRAY_{part}_ID") for part in ("JOB", "TASK"))
    serve(folder, f"{array}_{task}" if array else os.environ["SLURM_JOB_ID"], version, patience_s)


def serve(folder: str, worker: str, version: str, patience_s: float) -> None:
    """A worker's life: chunks in, outcomes out, until the sweep is gone for `patience_s`."""
    from nearfar import __version__

    spool = Path(folder)
    if __version__ != version:
        _write_text(spool / "refused", f"has nearfar {__version__}, the sweep {version}")
        return
    threading.Thread(target=_watch, args=(spool, patience_s), daemon=True).start()
    while spool.exists():
        chunk = _take(spool, worker)
        if chunk is None:
            time.sleep(_IDLE_S)
        else:
            _perform(spool, chunk)


def _take(spool: Path, worker: str) -> Path | None:
    """A chunk that is now this worker's; of several that try, one can rename it."""
    try:
        waiting = sorted(file.name for file in (spool / "waiting").iterdir())
    except FileNotFoundError:  # the sweep has ended
        return None
    for name in waiting:
        if name.endswith(_UNFINISHED):
            continue
        taken = spool / "taken" / f"{name}.{worker}"
        try:
            (spool / "waiting" / name).rename(taken)
        except FileNotFoundError:
            continue
        return taken
    return None


def _perform(spool: Path, taken: Path) -> None:
    chunk = taken.name.split(".", 1)[0]
    tasks: list[Task] = pickle.loads(taken.read_bytes())
    outcomes: list[Outcome] = []
    parts = 0
    began = time.monotonic()
    for at, task in enumerate(tasks):
        try:
            outcomes.append(perform(task))
        except WrongVersionError as error:
            _write_text(spool / "refused", str(error))
            return
        took = time.monotonic() - began
        if took >= _FLUSH_S or at == len(tasks) - 1:
            _write(spool / "done" / f"{chunk}-{parts:06d}", Part(chunk, outcomes, took))
            outcomes, parts, began = [], parts + 1, time.monotonic()


def _watch(spool: Path, patience_s: float) -> None:
    """End this worker, whatever it computes, when the sweep gives no sign any more.

    Its clock may be another than that of the file system, so that only changes count.
    """
    seen, since = 0, time.monotonic()
    while time.monotonic() - since < patience_s:
        time.sleep(min(patience_s / 4, 5.0))
        try:
            found = (spool / "alive").stat().st_mtime_ns
        except OSError:  # the sweep has ended, and its folder with it
            break
        if found != seen:
            seen, since = found, time.monotonic()
    shutil.rmtree(spool, ignore_errors=True)
    os._exit(0)


_UNFINISHED = ".unfinished"


def _write(path: Path, data: object) -> None:
    _write_bytes(path, pickle.dumps(data))


def _write_text(path: Path, text: str) -> None:
    _write_bytes(path, text.encode())


def _write_bytes(path: Path, data: bytes) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}{_UNFINISHED}")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise NearfarError(f"{path}: {error.strerror or error}") from None
