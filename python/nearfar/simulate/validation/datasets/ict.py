"""The ratios of ICT: 3D XPoint to DRAM, persisted to plain writes, remote to local.

One thread reads or writes blocks of 64 B in order, at random through an array of pointers, or
along a list; a persisted write is followed by clwb and an sfence. The device was an
engineering sample, one module, much faster than the product; a ratio stands for footprints
of 32 GB and more. The range of a published ratio counts as its middle.
"""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.measuring.patterns import Chase, Pattern, Stream
from nearfar.simulate.validation.datasets.perma import PREFETCHERS
from nearfar.simulate.validation.datasets.published import figures
from nearfar.simulate.validation.series import HardwarePoint, Job, Series
from nearfar.simulate.validation.tables import Row, Table, Tables

SOURCE = "Liu and Chen, Initial Experience with 3D XPoint Main Memory, 2019"

_SYSTEM = "ICT"
_AREA = 1 << 30
_LINES = 1 << 16
_DRAM = "ddr4-2666"

# Plain writes in order, a fill and a write-back each, take 5.4 ns a line on its DRAM: more than
# one channel does. How many there were is not said. Its dependent reads take what rows that are
# closed do.
_DRAM_MEMORY = (("channels", "2"), ("dram.page", "closed"))

# The server: pages of 4 KiB, and a way to the memory on which a dependent read of DRAM takes
# the 73 ns of its own table. Of the prefetchers nothing is said, so they are on. A persisted
# store to a random line takes 155 ns: past how many sfences lines are fetched is a property of the
# processor, and with one, as on PerMA-Bench's, that is what bringing them in and writing them take.
_SERVER = (
    ("cpu.page", "4 KiB"),
    ("cpu.path.read_out", "12500 ps"),
    ("cpu.path.read_back", "12500 ps"),
    ("cpu.fence.lines_ahead", "1"),
    *PREFETCHERS,
)

# The other socket's memory: dependent reads of DRAM take 58.3 ns longer there, a way out and a
# way back. Three links of 10.4 GT/s carry 62 GB/s each way, a line in five slots of 16 bytes. Its
# memory keeps the coherence directory: over a footprint that is walked again and again, lines that
# are only read have been read before, and lines that are written have come home since.
REMOTE = (
    ("link.kind", "numa"),
    ("link.request_latency", "29 ns"),
    ("link.response_latency", "29 ns"),
    ("link.slot", "257 ps"),
    ("link.write_round_trips", "1"),
    ("link.directory.kept", "memory"),
)
_SEEN = (("link.directory.seen", "1"),)

# Dependent writes take 145 ns longer there on 3D XPoint, dependent reads, which change no state,
# 47.3; on DRAM 56.3 and 58.3, so that a changed state costs nothing.
_GIVEN_AWAY = (("link.directory.latency", "98 ns"),)

# Independent reads that the benchmark's loop keeps in flight. Its DRAM says how many: 72.9 ns
# for one alone, 12.4 ns for one of many. Of writes, 80.4 and 20.8 ns, it is `cpu.store_lines` that
# says so: nine lines are four stores, each with the adjacent line.
_READS_IN_FLIGHT = 6


@dataclass(frozen=True)
class Access:
    """What a run does: "seq", "rand" or "dep"; "read", "write" or "persist"; where."""

    order: str
    op: str
    dram: bool = False
    remote: bool = False

    def job(self) -> Job:
        """The model's run."""
        memory = _DRAM_MEMORY if self.dram else (("channels", "1"),)
        overrides = (*memory, *_SERVER, *(self._link() if self.remote else ()))
        machine = _DRAM if self.dram else ""
        return Job(self._pattern(), overrides, cost=8 * _LINES, machine=machine)

    def _link(self) -> tuple[tuple[str, str], ...]:
        seen = _SEEN if self.op == "read" else ()
        return (*REMOTE, *seen, *(() if self.dram else _GIVEN_AWAY))

    def _pattern(self) -> Pattern:
        if self.order == "dep":
            # The list's next block is in the block, so that a write reads first.
            op = {"read": "load", "write": "load+store", "persist": "load+store+clwb"}[self.op]
            return Chase(
                op=op, region=_AREA // 4, regions="repeat", lines=_LINES, whole=False,
                fence="block" if self.op == "persist" else "none", fence_kind="sfence",
            )  # fmt: skip
        op = {"read": "load", "write": "store", "persist": "store+clwb"}[self.op]
        random = self.order == "rand"
        return Stream(
            op=op,
            outstanding=_READS_IN_FLIGHT if random and self.op == "read" else None,
            access=64,
            stride="random" if random else 64,
            area=_AREA,
            fence_every=64 if self.op == "persist" else None,
            lines=_LINES,
        )


def series(tables: Tables) -> list[Series]:
    """Slowdown against DRAM, cost of persisting, and remote against local."""
    points: dict[str, list[HardwarePoint]] = {}
    for table, row in figures(tables, _SYSTEM):
        found = _slowdown(row) or _persisting(row) or _remote(table, row)
        if found:
            points.setdefault(found[0], []).append(found[1])
    titles = {
        "slowdown": "3D XPoint against DRAM",
        "persist": "Persisted against plain writes",
        "remote": "The other socket against this one",
    }
    return [
        Series(f"ict-{kind}", f"ICT, {title}", "ict", SOURCE, tuple(points[kind]), ordered=True)
        for kind, title in titles.items()
        if kind in points
    ]


def _slowdown(row: Row) -> tuple[str, HardwarePoint] | None:
    """ "same, >=32GB seqread", or ">=32GB seqwrite"."""
    name = row["metric"].removeprefix("same, ")
    if not name.startswith(">=32GB "):
        return None
    order, op = _split(name.removeprefix(">=32GB "))
    job, base = Access(order, op).job(), Access(order, op, dram=True).job()
    return "slowdown", _ratio(f"{order} {op}", _middle(row["value"]), job, base, row)


def _persisting(row: Row) -> tuple[str, HardwarePoint] | None:
    """ "persist/normal seqwrite >=32GB"."""
    name = row["metric"]
    if not (name.startswith("persist/normal ") and name.endswith(" >=32GB")):
        return None
    order, op = _split(name.removeprefix("persist/normal ").removesuffix(" >=32GB"))
    job, base = Access(order, "persist").job(), Access(order, op).job()
    return "persist", _ratio(f"{order} {op}", _middle(row["value"]), job, base, row)


def _remote(table: Table, row: Row) -> tuple[str, HardwarePoint] | None:
    """ "DRAM seqread remote/local latency": of the table by pattern."""
    memory, _, rest = row["metric"].partition(" ")
    if not rest.endswith(" remote/local latency"):
        return None
    order, op = _split(rest.partition(" ")[0])
    dram = memory == "DRAM"
    op = "persist" if memory == "persist" else op
    job = Access(order, op, dram=dram, remote=True).job()
    base = Access(order, op, dram=dram).job()
    label = f"{'DRAM' if dram else '3D XPoint'} {order} {op}"
    return "remote", _ratio(label, table.positive(row, "value"), job, base, row)


def _split(name: str) -> tuple[str, str]:
    """ "seqread" is "seq", "read"."""
    order = next(order for order in ("seq", "rand", "dep") if name.startswith(order))
    return order, name.removeprefix(order)


def _middle(value: str) -> float:
    """ "2.1-2.3" is 2.2."""
    ends = [float(end) for end in value.split("-")]
    return sum(ends) / len(ends)


def _ratio(label: str, real: float, job: Job, base: Job, row: Row) -> HardwarePoint:
    return HardwarePoint(
        label=label,
        real=real,
        unit="x",
        job=job,
        quantity="ns_per_line",
        relative_to=base,
        rows=(row,),
    )
