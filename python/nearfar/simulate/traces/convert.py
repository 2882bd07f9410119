"""Trace files: what they hold, and turning one format into another."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from nearfar.errors import InputError, check_one_of
from nearfar.measuring.quantity import at_least
from nearfar.measuring.run import Progress
from nearfar.results import replacing
from nearfar.simulate.traces.file import shown, trace_pieces
from nearfar.simulate.traces.formats import readable, writable
from nearfar.simulate.traces.packing import packer
from nearfar.simulate.traces.unpack import exact_end

# Endings of names that are not a format's own name.
_BY_ENDING = {"nft": "nearfar", "stl": "dramsys", "rstl": "dramsys-relative", "nvt": "nvmain"}

# Bytes of a zstandard frame before packing: what a file that was cut off can lose of its end.
FRAME = 256 * 1024


@dataclass(frozen=True)
class TraceInfo:
    """What a trace holds. Counts are exact; `lines` are of 64 bytes, pages of 4 KiB.

    `read_share` is of reads and writes of every kind, `sequential_share` of accesses: those whose
    line is the one that the same thread accessed last, or the next; both are None where there are
    none of these. `length` is in what the trace
    `counts`. `problem` is why nothing after these records could be read, "" when all was.
    """

    SCHEMA: ClassVar[str] = "nearfar/trace-info/1"

    file: str
    format: str
    header: str
    kind: str
    counts: str
    clock_ps: int
    records: int
    operations: Mapping[str, int]
    threads: Mapping[str, int]
    lowest_address: int
    highest_address: int
    lines: int
    pages: int
    read_share: float | None
    sequential_share: float | None
    length: int
    hottest_pages: Sequence[Mapping[str, int]]
    problem: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, as `json.dumps` takes them."""
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return {"schema": self.SCHEMA, **known}


@dataclass(frozen=True)
class Converted:
    """How many records were written, and how many the other format has no words for: fences, and
    flushes of a program.
    """

    records: int
    left_out: int


def trace_info(
    trace: str | Path,
    *,
    format: str = "auto",
    base: int | None = None,
    progress: Progress | None = None,
) -> TraceInfo:
    """Read the whole of a trace and count what is in it.

    `base`, 10 or 16, is that of addresses without 0x in a trace of text; None: the format's own.

    A trace that is cut off or damaged is counted as far as it can be read. Raises InputError when
    nothing of it can be.
    """
    from nearfar import _core

    check_one_of("format", format, readable())
    summary = _core.TraceSummary(name=shown(trace), format=format, base=base or 0)
    problem = ""
    try:
        with exact_end(summary):
            for piece in trace_pieces(trace, format, progress):
                summary.feed(piece)
        summary.finish()
    except InputError as error:
        if not summary.result()["records"]:
            raise
        problem = str(error)
    data = summary.result()
    operations = data["operations"]
    writes = operations["write"] + operations["nt_write"]
    moved = operations["read"] + writes
    return TraceInfo(
        file=str(trace),
        format=data["format"],
        header=data["header"],
        kind=data["kind"],
        counts=data["counts"],
        clock_ps=data["clock_ps"],
        records=data["records"],
        operations=operations,
        threads=data["threads"],
        lowest_address=data["lowest_address"],
        highest_address=data["highest_address"],
        lines=data["lines"],
        pages=data["pages"],
        read_share=operations["read"] / moved if moved else None,
        sequential_share=data["sequential"] / data["accesses"] if data["accesses"] else None,
        length=data["length"],
        hottest_pages=data["hottest_pages"],
        problem=problem,
    )


@dataclass(frozen=True)
class ConvertOptions:
    """How a trace is converted: from `format` to `output_format`.

    None: the format that the name of the output ends in, `.nft` for our own. `base` is as in
    `trace_info`, `skip` and `run` as in `ReplayOptions`. `clock_ps` is the period of the cycles of
    whichever of the two traces does not say itself.
    """

    format: str = "auto"
    base: int | None = None
    output_format: str | None = None
    skip: int = 0
    run: int | None = None
    clock_ps: int | None = None


_DEFAULTS = ConvertOptions()


def convert(
    trace: str | Path,
    output: str | Path,
    options: ConvertOptions = _DEFAULTS,
    *,
    progress: Progress | None = None,
) -> Converted:
    """Write `trace` to the file `output` in another format.

    An ending `.gz` or `.zst` packs; our own format always is. `progress` is told bytes of the
    trace, done and in all.

    Raises InputError for a trace that cannot be read, or not be said in the other format; the
    output appears when it is complete, and until then what was there stays.
    """
    from nearfar import _core

    check_one_of("format", options.format, readable())
    to, packing = _target(Path(output), options.output_format)
    at_least("skip", options.skip, 0)
    if options.run is not None:
        at_least("run", options.run, 1)
    converter = _core.TraceConverter(
        name=shown(trace),
        source=options.format,
        base=options.base or 0,
        to=to,
        skip=options.skip,
        run=options.run or 0,
        clock_ps=options.clock_ps or 0,
        command=f"trace convert {shown(Path(trace).name)}",
    )
    with replacing(output) as stream, _packed(stream, packing) as write:
        with exact_end(converter):
            for piece in trace_pieces(trace, options.format, progress):
                write(converter.feed(piece))
                while converter.has_more():
                    write(converter.feed(b""))
                if converter.done():
                    break
        write(converter.finish())
    return Converted(records=converter.records(), left_out=converter.left_out())


def _target(output: Path, to: str | None) -> tuple[str, str]:
    """The format and the packing of a file to write."""
    suffixes = [suffix.removeprefix(".") for suffix in output.suffixes]
    packing = suffixes.pop() if suffixes and suffixes[-1] in ("gz", "zst", "xz", "bz2") else ""
    if packing in ("xz", "bz2"):
        raise InputError(f"{output}: found .{packing}, expected .gz, .zst or no packing")
    named = suffixes[-1] if suffixes else ""
    if to is None:
        to = _BY_ENDING.get(named, named)
        if to not in writable():
            raise InputError(
                f"{output}: no format follows from the name, expected .nft, .FORMAT or "
                f"--output-format FORMAT with one of {', '.join(writable())}"
            )
    check_one_of("output-format", to, writable())
    return to, "zst" if to == "nearfar" else packing


@contextlib.contextmanager
def _packed(stream: BinaryIO, packing: str) -> Iterator[Callable[[bytes], object]]:
    """What writes bytes to `stream`, packed; all of them are there when the block ends."""
    if packing == "gz":
        with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as packer:
            yield packer.write
    elif packing == "zst":
        frames = _Frames(stream)
        yield frames.write
        frames.finish()
    else:
        yield stream.write


class _Frames:
    """Zstandard frames of a bounded size."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._packer = packer()
        self._waiting = bytearray()

    def write(self, data: bytes) -> None:
        self._waiting += data
        while len(self._waiting) >= FRAME:
            self._stream.write(self._packer.compress(bytes(self._waiting[:FRAME])))
            del self._waiting[:FRAME]

    def finish(self) -> None:
        if self._waiting:
            self._stream.write(self._packer.compress(bytes(self._waiting)))
