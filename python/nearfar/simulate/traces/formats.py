"""The formats of traces, as the core lists them."""

from __future__ import annotations

import functools
from dataclasses import dataclass


@dataclass(frozen=True)
class TraceFormat:
    """A format: of text or of bytes, which `magic` begins unless it is empty."""

    name: str
    text: bool
    written: bool  # or only read
    magic: bytes


@functools.cache
def trace_formats() -> tuple[TraceFormat, ...]:
    """All of them, those of text first."""
    from nearfar import _core

    return tuple(TraceFormat(**one) for one in _core.trace_formats())


def readable() -> tuple[str, ...]:
    """What a reader may be told that a trace is: "auto" to find out, or a name."""
    return ("auto", *(one.name for one in trace_formats()))


def writable() -> tuple[str, ...]:
    """The names of the formats that a trace can be written in."""
    return tuple(one.name for one in trace_formats() if one.written)
