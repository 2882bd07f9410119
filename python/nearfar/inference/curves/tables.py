"""Published tables as observations: one a row and quantity.

A table is recognised by its columns. The columns of any latency curve of your own are

    region_bytes, block_bytes, op, ns_per_line     and where they apply
    modules, regions (fresh | repeat), held_bits (12 or 12-19), cycles_per_line instead of ns.

The identity of an observation is the table's name, what was measured, and the line of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from nearfar.errors import InputError
from nearfar.results.findings import Observation

Row = Mapping[str, str]
LINE = 64

# Columns that tell a layout, and how its rows are read.
_Reader = Callable[["_Table"], Iterator[Observation]]


def observations(name: str, columns: Sequence[str], rows: Sequence[Row]) -> list[Observation]:
    """The table `name` with these `columns`. Raises InputError naming column and line."""
    table = _Table(name, rows)
    for wanted, reader in _LAYOUTS:
        if set(wanted) <= set(columns):
            return list(reader(table))
    layouts = "; ".join(", ".join(wanted) for wanted, _ in _LAYOUTS)
    raise InputError(
        f"{name}.csv: found columns {', '.join(columns)}, expected those of a known layout: "
        f"{layouts}"
    )


class _Table:
    """Rows with the line each stands in, and cells as numbers."""

    def __init__(self, name: str, rows: Sequence[Row]) -> None:
        self.name = name
        self.rows = list(enumerate(rows, start=2))

    def number(self, line: int, row: Row, column: str) -> float:
        try:
            value = float(row[column])
        except ValueError:
            value = -1.0
        if not 0 <= value < float("inf"):
            raise InputError(
                f"{self.name}.csv:{line}: {column} is {row[column]!r}, expected a number from 0"
            )
        return value

    def size(self, line: int, row: Row, column: str) -> int:
        value = self.number(line, row, column)
        if value < LINE or value % LINE:
            raise InputError(
                f"{self.name}.csv:{line}: {column} is {row[column]!r}, expected bytes, "
                f"a multiple of {LINE}"
            )
        return int(value)

    def chase(
        self, line: int, region: int, block: int, op: str, value: float, **more: Any
    ) -> Observation:
        """One point of a latency curve."""
        if value <= 0:
            raise InputError(f"{self.name}.csv:{line}: the time is {value:g}, expected more")
        given = {key: item for key, item in more.items() if item is not None}
        pattern = {
            "kind": "chase",
            "op": op,
            "region_bytes": region,
            "block_bytes": block,
            "regions": "fresh",
            **given,
        }
        prober = f"{self.name}-{op}"
        accesses = max(1, region // LINE)
        return Observation(f"{prober}.{line}", prober, pattern, accesses, ns_per_access=value)


def _own(table: _Table) -> Iterator[Observation]:
    for line, row in table.rows:
        cycles = "ns_per_line" not in row
        if row["op"] not in _OPERATIONS:
            raise InputError(
                f"{table.name}.csv:{line}: op is {row['op']!r}, expected one of "
                f"{', '.join(_OPERATIONS)}"
            )
        yield table.chase(
            line,
            table.size(line, row, "region_bytes"),
            table.size(line, row, "block_bytes"),
            row["op"],
            table.number(line, row, "cycles_per_line" if cycles else "ns_per_line"),
            modules=int(table.number(line, row, "modules")) if row.get("modules") else None,
            regions=row.get("regions") or None,
            held_bits=_bits(table, line, row["held_bits"]) if row.get("held_bits") else None,
            unit="cycles" if cycles else None,
        )


_OPERATIONS = ("load", "ntload", "store", "ntstore", "store+clwb", "raw")


def _lens(table: _Table) -> Iterator[Observation]:
    for line, row in table.rows:
        for op, column in (("ntstore", "write_ns_per_CL"), ("ntload", "read_ns_per_CL")):
            yield table.chase(
                line,
                table.size(line, row, "region_B"),
                table.size(line, row, "block_B"),
                op,
                table.number(line, row, column),
                modules=int(table.number(line, row, "dimms")),
            )


def _held(table: _Table) -> Iterator[Observation]:
    for line, row in table.rows:
        mask = row["address_mask"].removeprefix("mask_")
        yield table.chase(
            line,
            table.size(line, row, "region_B"),
            LINE,
            "ntload",
            table.number(line, row, "avg_latency_cycles"),
            held_bits=None if mask == "clean" else _bits(table, line, mask),
            unit="cycles",
        )


_ADDRESS_BITS = 64


def _bits(table: _Table, line: int, text: str) -> list[int]:
    """12 -> [12]; 12-14 -> [12, 13, 14]."""
    low, _, high = text.partition("-")
    digits = [low, high or low]
    if any(not one.isdecimal() or len(one) > 2 or int(one) >= _ADDRESS_BITS for one in digits):
        raise InputError(f"{table.name}.csv:{line}: found bits {text!r}, expected 12 or 12-19")
    return list(range(int(low), int(high or low) + 1))


def _reread(table: _Table) -> Iterator[Observation]:
    """Blocks that were read a second time, and the share of them that had been evicted."""
    for line, row in table.rows:
        blocks, rate = table.number(line, row, "Iteration"), table.number(line, row, "Rate")
        if blocks < 1 or blocks != int(blocks) or rate > 1:
            raise InputError(
                f"{table.name}.csv:{line}: expected a whole number of blocks and a share of them"
            )
        pattern = {
            "kind": "reread",
            "order": "same",
            "blocks": int(blocks),
            "level": 2 if "ait" in table.name else 1,
            "unit": "evicted",
        }
        counts = ((0.0, blocks * (1 - rate)), (1.0, blocks * rate))
        yield Observation(
            f"{table.name}.{line}", table.name, pattern, int(blocks), histogram=counts
        )


def _overwrite(table: _Table) -> Iterator[Observation]:
    events = tuple(
        (table.number(line, row, "iteration"), table.number(line, row, "ns"))
        for line, row in table.rows
    )
    if events:
        pattern = {"kind": "overwrite", "region_bytes": 256, "op": "ntstore"}
        writes = int(events[-1][0]) + 1
        yield Observation(f"{table.name}.1", table.name, pattern, writes, events=events)


def _distribution(table: _Table) -> Iterator[Observation]:
    """Gaps between stalls in writes, or their lengths in cycles: the name says which."""
    gap = "gap" in table.name
    pattern = {
        "kind": "overwrite",
        "quantity": "gap" if gap else "stall",
        "unit": "writes" if gap else "cycles",
    }
    column = "value_cycles_or_count"
    values = tuple(table.number(line, row, column) for line, row in table.rows)
    if "wearlevel" not in table.name:
        raise InputError(
            f"{table.name}.csv: {column} holds times of single reads; only the distributions of "
            "wear levelling (wearlevel in the name) say something about structure"
        )
    if values:
        yield Observation(f"{table.name}.1", table.name, pattern, len(values), samples=values)


_LAYOUTS: tuple[tuple[tuple[str, ...], _Reader], ...] = (
    (("region_bytes", "block_bytes", "op", "ns_per_line"), _own),
    (("region_bytes", "block_bytes", "op", "cycles_per_line"), _own),
    (("dimms", "region_B", "block_B", "write_ns_per_CL", "read_ns_per_CL"), _lens),
    (("region_B", "address_mask", "avg_latency_cycles"), _held),
    (("Iteration", "Rate"), _reread),
    (("iteration", "ns"), _overwrite),
    (("value_cycles_or_count",), _distribution),
)
