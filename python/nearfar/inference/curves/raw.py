"""What lat_mem_rd, Intel MLC and multichase print, as observations: recognised by what it says.

* lat_mem_rd (lmbench): `"stride=128`, then MiB and ns a load, a line each. The order is
  ascending unless it was run with -t, and the text does not say which.
* Intel MLC: tables under headings that say what they are. Only `--idle_latency` runs with
  buffers of several sizes make a curve; matrices and loads are about the memory behind all caches.
* multichase -v: `total_memory = BYTES`, and the latency at the end. Without -v it prints a
  latency and nothing about what it is of.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nearfar.errors import InputError
from nearfar.inference.tables import COLUMNS, KIND
from nearfar.results.findings import Observation

LINE = 64
MIB = 1 << 20

_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_STRIDE = re.compile(r'^"?stride=(\d+)\s*$')
_PAIR = re.compile(rf"^({_NUMBER})[\s,]+({_NUMBER})$")
_BUFFER = re.compile(rf"buffer size of ({_NUMBER})\s*(KiB|KB|MiB|MB|GiB|GB)\b")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_IDLE = re.compile(rf"Each iteration took .*\(\s*({_NUMBER})\s*ns\s*\)")
_NODES = re.compile(r"^(?:Numa node|Socket|CPU)\s+((?:\d+\s*)+)$")
_ROW = re.compile(rf"^(\d+)((?:\s+(?:{_NUMBER}|-))+)$")
_INJECT = re.compile(rf"^(\d{{5}})\s+({_NUMBER})\s+({_NUMBER})$")
_RATIO = re.compile(rf"^(ALL Reads|\d:\d Reads-Writes|Stream-triad like)\s*:\s*({_NUMBER})$")
_MEMORY = re.compile(r"^total_memory\s*=\s*(\d+)")
_CHASE_STRIDE = re.compile(r"^stride\s*=\s*(\d+)")
_THREADS = re.compile(r"^nr_threads\s*=\s*(\d+)")
_RESULT = re.compile(rf"^(?:\d+\.\d+\s+)?({_NUMBER})$")


def raw_observations(name: str, source: str, text: str) -> list[Observation] | None:
    """The observations of `text` under the name `name`; None where it is no such program's.

    Raises InputError, naming `source` and the line, where such a text cannot be read.
    """
    lines = [line.strip() for line in text.splitlines()]
    for program, recognised, reader in _PROGRAMS:
        if any(recognised(line) for line in lines):
            out = _Out(name, source)
            reader(out, lines)
            if not out.found:
                raise InputError(f"{source}: found output of {program}, and no measurement in it")
            return out.found
    return None


_TOO_LARGE = 2.0**64


@dataclass
class _Out:
    """Observations as they are read."""

    name: str
    source: str
    found: list[Observation] = field(default_factory=list)

    def chase(self, line: int, region: float, ns: float, **more: Any) -> None:
        """A point of a curve over regions; `line` counts from 0."""
        rounded = round(region / LINE) * LINE if region < _TOO_LARGE else 0
        if rounded < LINE or not 0 < ns < math.inf:
            raise InputError(
                f"{self.source}:{line + 1}: found a region of {region:g} B in {ns:g} ns, expected "
                f"{LINE} B or more that memory can have, and more than 0 ns"
            )
        pattern = {
            "kind": "chase",
            "op": "load",
            "region_bytes": rounded,
            "block_bytes": LINE,
            "regions": "repeat",
            **more,
        }
        self.found.append(self._observation(line, pattern, ns))

    def entry(self, line: int, table: str, ns: float | None, **more: Any) -> None:
        """One entry of a table that is no curve; `ns` where it is a latency."""
        self.found.append(self._observation(line, {"kind": KIND, "table": table, **more}, ns))

    def _observation(self, line: int, pattern: dict[str, Any], ns: float | None) -> Observation:
        return Observation(f"{self.name}.{line + 1}", self.name, pattern, 1, ns_per_access=ns)


def _lat_mem_rd(out: _Out, lines: list[str]) -> None:
    stride = 0
    for at, line in enumerate(lines):
        if begins := _STRIDE.match(line):
            stride = int(begins[1])
        elif stride and (pair := _PAIR.match(line)):
            out.chase(at, float(pair[1]) * MIB, float(pair[2]), order="unknown", stride=stride)
        elif stride and line:
            raise InputError(
                f"{out.source}:{at + 1}: found {line[:40]!r}, expected MiB and ns, as lat_mem_rd "
                "prints them"
            )


def _mlc(out: _Out, lines: list[str]) -> None:
    size, what = 0.0, ""
    nodes: list[int] = []
    for at, line in enumerate(lines):
        if buffer := _BUFFER.search(line):
            size = float(buffer[1]) * _UNITS[buffer[2][0]]
        if line.startswith("Measuring"):
            what, nodes = _heading(line), []
        elif idle := _IDLE.search(line):
            out.entry(at, "idle", float(idle[1]))
            if size:
                out.chase(at, size, float(idle[1]), order="unknown")
        elif header := _NODES.match(line):
            nodes = [int(one) for one in header[1].split()]
        elif ratio := _RATIO.match(line):
            out.entry(at, "traffic", None, traffic=ratio[1], gb_per_s=float(ratio[2]) / 1000)
        elif loaded := _INJECT.match(line):
            out.entry(
                *(at, "loaded", float(loaded[2])),
                delay=int(loaded[1]),
                gb_per_s=float(loaded[3]) / 1000,
            )
        elif nodes and what and (row := _ROW.match(line)):
            _matrix_row(out, at, what, int(row[1]), dict(zip(nodes, row[2].split(), strict=False)))


def _heading(line: str) -> str:
    if "latenc" in line and "idle" in line:
        return "latency"
    return "bandwidth" if "Bandwidths between nodes" in line else ""


def _matrix_row(out: _Out, at: int, what: str, own: int, values: dict[int, str]) -> None:
    for other, value in values.items():
        if value == "-":
            continue
        if what == "latency":
            out.entry(at, what, float(value), cpu=own, memory=other)
        else:
            out.entry(at, what, None, cpu=own, memory=other, gb_per_s=float(value) / 1000)


def _multichase(out: _Out, lines: list[str]) -> None:
    region = stride = 0
    threads = 1
    for at, line in enumerate(lines):
        if count := _THREADS.match(line):
            threads = int(count[1])
        elif memory := _MEMORY.match(line):
            region, stride = int(memory[1]), LINE
        elif step := _CHASE_STRIDE.match(line):
            stride = int(step[1])
        elif region and threads == 1 and (result := _RESULT.match(line)):
            more = {} if stride <= LINE else {"stride": stride}
            out.chase(at, region, float(result[1]), order="random", **more)
            region = 0


def _says_mlc(line: str) -> bool:
    return (
        "Memory Latency Checker" in line
        or re.match(r"^Inject\s+Latency\s+Bandwidth", line) is not None
        or line.startswith(("Measuring idle latenc", "Measuring Loaded Latenc"))
        or line.startswith(("Measuring Memory Bandwidths", "Measuring Peak Injection"))
        or _IDLE.search(line) is not None
        or re.match(r"^Numa node\s+\d", line) is not None
    )


def _lone(out: _Out, lines: list[str]) -> None:
    for at, line in enumerate(lines):
        if not line:
            continue
        if not _is_lone(line):
            raise InputError(
                f"{out.source}:{at + 1}: found {line[:40]!r} among latencies, expected one a line, "
                f"as multichase prints them, or a table with the columns {COLUMNS}"
            )
        out.entry(at, "alone", float(line))


def _is_lone(line: str) -> bool:
    return re.fullmatch(r"\d+\.\d{1,3}", line) is not None


_Reader = Callable[[_Out, list[str]], None]
_PROGRAMS: tuple[tuple[str, Callable[[str], object], _Reader], ...] = (
    ("lat_mem_rd", _STRIDE.match, _lat_mem_rd),
    ("Intel MLC", _says_mlc, _mlc),
    ("multichase -v", _MEMORY.match, _multichase),
    ("multichase", _is_lone, _lone),
)
