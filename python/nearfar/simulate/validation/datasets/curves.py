"""Capacity, sets, ways and replacement of the two buffers (USENIX Security 2023).

Dependent reads go over a region again and again, with some address bits held constant. The
artefact does not state its clock, nor what its timing adds to a read; so a reading is
compared as its place between two others of the same walk: a share of 0 is what a region that
fits the first buffer costs, 1 what one costs that fits the second one only. Beyond the second
buffer the share is above 1; a reading below the first plateau is noise, and counts as 0.
"""

from __future__ import annotations

import statistics

from nearfar.errors import InputError
from nearfar.results.wording import size
from nearfar.simulate.validation.accuracy import SHARE
from nearfar.simulate.validation.quantities import WALK
from nearfar.simulate.validation.series import HardwarePoint, Job, Series
from nearfar.simulate.validation.tables import Row, Table, Tables
from nearfar.simulate.walk import Walk

SOURCE = "Liu et al., USENIX Security 2023; artefact data (MIT)"
COLUMNS = ("region_B", "address_mask", "avg_latency_cycles")

_FITS_FIRST, _FITS_SECOND = 16 << 10, 4 << 20
_ONE_DIMM = (("channels", "1"),)
_LINES_OF_A_BLOCK = 256  # bytes; below, the published walk has few reads, mostly its own cost


def capacity(tables: Tables) -> list[Series]:
    """One series a table, by the bits held."""
    found = []
    for table in tables.with_columns(*COLUMNS):
        clean = _clean(table)
        if _FITS_FIRST not in clean or _FITS_SECOND not in clean:
            continue
        low, high = clean[_FITS_FIRST], clean[_FITS_SECOND]
        if low >= high:
            raise InputError(
                f"{table.name}.csv: avg_latency_cycles is {low:g} in regions of {_FITS_FIRST} and "
                f"of {_FITS_SECOND} B, expected that the larger takes longer"
            )
        points = tuple(
            HardwarePoint(
                label=f"{size(table.whole(row, 'region_B'))}, {_words(row)}",
                real=max(0.0, (table.number(row, "avg_latency_cycles") - low) / (high - low)),
                unit=SHARE,
                job=_over(table.whole(row, "region_B"), _held(row)),
                quantity=WALK,
                between=(_over(_FITS_FIRST), _over(_FITS_SECOND)),
                x=table.whole(row, "region_B"),
                curve=_words(row),
                rows=(row,),
            )
            for row in table.rows
            if table.whole(row, "region_B") >= _LINES_OF_A_BLOCK
        )
        which = "AIT" if "ait" in table.name else "RMW"
        name = f"capacity-{which.lower()}"
        title = f"Reads by region with address bits held, {which} buffer"
        found.append(Series(name, title, "capacity", SOURCE, points))
    return found


def _clean(table: Table) -> dict[int, float]:
    """The table's reading by region, where no bit is held; the median of repeated ones."""
    seen: dict[int, list[float]] = {}
    for row in table.rows:
        if not _held(row):
            region = table.whole(row, "region_B")
            seen.setdefault(region, []).append(table.number(row, "avg_latency_cycles"))
    return {region: statistics.median(values) for region, values in seen.items()}


def _held(row: Row) -> tuple[int, ...]:
    """ "mask_12-14" holds bits 12, 13 and 14; "mask_clean" none."""
    first, _, last = row["address_mask"].removeprefix("mask_").partition("-")
    return tuple(range(int(first), int(last or first) + 1)) if first.isdecimal() else ()


def _words(row: Row) -> str:
    held = _held(row)
    if not held:
        return "no bit held"
    return f"bit {held[0]} held" if len(held) == 1 else f"bits {held[0]} to {held[-1]} held"


def _over(region: int, held: tuple[int, ...] = ()) -> Job:
    walk = Walk.over(region, held)
    return Job(walk, _ONE_DIMM, cost=sum(walk.reads()))


# Of each buffer: how far apart blocks of one set lie, a number of them that all stay and one
# that all go, and how many reads elsewhere put a buffer before it out of the way.
_REPLACEMENT = {
    "sec23_rmw_replacement_same_order": ("RMW buffer", 256, 8, 512, 0),
    "sec23_ait_replacement_same_order": ("AIT buffer", 1 << 20, 2, 32, 128),
}


def replacement(tables: Tables) -> list[Series]:
    """Which share of n blocks is gone when they are read again in the same order."""
    found = []
    for name, (buffer, stride, few, many, other) in _REPLACEMENT.items():
        table = tables.named(name)
        if table is None:
            continue
        points = tuple(
            HardwarePoint(
                label=f"{table.count(row, 'Iteration')} blocks",
                real=table.number(row, "Rate"),
                unit=SHARE,
                job=_in_turn(table.count(row, "Iteration"), stride, other),
                quantity=WALK,
                between=(_in_turn(few, stride, other), _in_turn(many, stride, other)),
                x=table.count(row, "Iteration"),
                curve=buffer,
                rows=(row,),
            )
            for row in table.rows
        )
        title = f"Share of blocks gone after the others were read, {buffer}"
        short = buffer.partition(" ")[0].lower()
        found.append(Series(f"replacement-{short}", title, "replacement", SOURCE, points))
    return found


def _in_turn(blocks: int, stride: int, between: int) -> Job:
    walk = Walk(blocks=blocks, stride=stride, random=False, between=between)
    return Job(walk, _ONE_DIMM, cost=walk.length())
