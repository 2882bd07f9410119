"""A progress bar with an estimate of the time left, on a terminal and nowhere else."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO

_WIDTH = 28
_REFRESH_S = 0.1


class ProgressBar:
    """Call it with (done, total) as work finishes; leaving the context removes the bar."""

    def __init__(
        self,
        label: str,
        *,
        quiet: bool,
        scale: int = 1,
        unit: str = "",
        stream: TextIO | None = None,
    ) -> None:
        self._label = label
        self._scale = scale  # what is counted, per `unit`
        self._unit = f" {unit}" if unit else ""
        self._stream = sys.stderr if stream is None else stream
        self._shown = not quiet and self._stream.isatty()
        self._start = self._last = time.monotonic()

    def __enter__(self) -> ProgressBar:
        if self._shown:
            self._write(f"{self._label} ...")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            self._write("")

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._shown or not done or (now - self._last < _REFRESH_S and done < total):
            return
        self._last = now
        left = (now - self._start) / done * (total - done)
        filled = _WIDTH * done // total
        bar = "#" * filled + "." * (_WIDTH - filled)
        count = f"{-(-done // self._scale)}/{-(-total // self._scale)}{self._unit}"
        self._write(f"{self._label} [{bar}] {count}, {duration(left)} left")

    def _write(self, text: str) -> None:
        self._stream.write(f"\r\x1b[K{text}")
        self._stream.flush()


def duration(seconds: float) -> str:
    """75 -> "1 min 15 s"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
