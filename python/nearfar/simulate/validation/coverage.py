"""What of each table is compared with a model, and why the rest is not.

Every row of every table is either behind a point of some dataset or under one of the reasons
below; a row that is under neither is reported as such, and a test allows none in the tables
that come with nearfar.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from nearfar.results.coverage import Coverage, DatasetCard, Figure, TableCoverage
from nearfar.simulate.validation.datasets import DATASETS
from nearfar.simulate.validation.series import Series
from nearfar.simulate.validation.tables import Row, Table, Tables, external, shipped

UNEXPLAINED = "no dataset takes it, and no reason is known"

_NAMES = ("system", "metric", "conditions")
_FIGURE = {*_NAMES, "value", "unit"}  # the columns of a table of single figures


def listed(against: str) -> Coverage:
    """The coverage of the folder that `against` names, or of the tables that come with nearfar.

    Raises InputError.
    """
    folders = [name for name in against.split(",") if Path(name).is_dir()]
    return coverage(external(Path(folders[0])) if folders else shipped())


def coverage(tables: Tables) -> Coverage:
    """Build every dataset from the tables and see which rows they took."""
    built = {name: dataset.build(tables) for name, dataset in DATASETS.items()}
    takers = _takers(built)
    found, figures = [], []
    for table in tables:
        if "licence" in table.columns:  # the list of sources holds no measurement
            continue
        compared: Counter[str] = Counter()
        left_out: Counter[str] = Counter()
        for row in table.rows:
            names = takers.get(id(row), ())
            reason = "" if names else reason_for(table, row)
            compared.update(names)
            left_out.update([reason] if reason else [])
            if table.columns >= _FIGURE:
                system = row["system"].partition(": ")[0]
                named = (system, row["metric"], row["conditions"])
                name = ": ".join(filter(None, named))
                value = f"{row['value']} {row['unit']}"
                figures.append(Figure(name, value, names, reason))
        found.append(TableCoverage(table.name, len(table.rows), dict(compared), dict(left_out)))
    cards = [
        DatasetCard(
            dataset.name,
            dataset.meaning,
            dataset.machine,
            len(built[dataset.name]),
            sum(len(series.points) for series in built[dataset.name]),
        )
        for dataset in DATASETS.values()
    ]
    return Coverage(tables.origin, tuple(cards), tuple(found), tuple(figures))


def _takers(built: Mapping[str, Sequence[Series]]) -> dict[int, tuple[str, ...]]:
    """The names of the datasets that have a point of each row, by the row's identity."""
    found: dict[int, dict[str, None]] = {}
    for name, series in built.items():
        for one in series:
            for row in _rows(one):
                found.setdefault(id(row), {})[name] = None
    return {row: tuple(names) for row, names in found.items()}


def _rows(series: Series) -> list[Row]:
    return [row for point in series.points for row in point.rows]


def reason_for(table: Table, row: Row) -> str:
    """Why a row that no dataset takes is not compared."""
    return next((reason for reason, fits in REASONS if fits(table, row)), UNEXPLAINED)


def _has(column: str, *values: str) -> Callable[[Table, Row], bool]:
    return lambda _, row: row.get(column) in values


def _zero(table: Table, row: Row) -> bool:
    return any(
        row.get(column) and table.number(row, column) == 0
        for column in ("throughput_MiBps", "value")
        if _is_number(row.get(column, ""))
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_latency(_: Table, row: Row) -> bool:
    return row.get("benchmark") in ("operation_latency", "double_flush_latency")


def _mixes_memories(_: Table, row: Row) -> bool:
    return "rd_" in row.get("custom_operations", "")


def _small_region(_: Table, row: Row) -> bool:
    return "address_mask" in row and int(row["region_B"]) < 256


def _plays_two(table: Table, _: Row) -> bool:
    return "other_workloads(threads,size)" in table.columns


def _figure(system: str, metric: str) -> Callable[[Table, Row], bool]:
    """The single figures of systems and metrics that begin so."""
    return lambda table, row: (
        table.columns >= _FIGURE
        and row["system"].startswith(system)
        and row["metric"].startswith(metric)
    )


def _ends(metric: str) -> Callable[[Table, Row], bool]:
    return lambda table, row: table.columns >= _FIGURE and row["metric"].endswith(metric)


def _ict_range(table: Table, row: Row) -> bool:
    return _figure("ICT", "")(table, row) and "-" in row["value"] and ">=32GB" not in row["metric"]


_FOOTPRINTS = "a range over footprints from 1 GB: its figure for 32 GB and more is compared"
_STRUCTURE = "a property of the buffers: `nearfar probe` finds it on a model"
_CLIENTS = ("mlc-alderlake", "mlc-lunarlake", "yarch23")

REASONS: tuple[tuple[str, Callable[[Table, Row], bool]], ...] = (
    ("an error bar, not a measurement", lambda _, row: row.get("series", "").endswith("-Err")),
    ("a rate of zero: the run failed", _zero),
    ("repeats family pmem, system apache-256, digit by digit", _has("family", "speed")),
    (
        "of the other memory (ldram, rdram): no table has its twin",
        _has("media", "ldram", "rdram", "rpmem"),
    ),
    ("a tree whose inner nodes are in DRAM beside the DIMMs", _mixes_memories),
    ("regions below one block: what the timing itself costs", _small_region),
    ("a client machine, whose memory no preset has", _has("host", *_CLIENTS)),
    ("latency from one core's cache to another's", _has("metric", "c2c_ns")),
    ("of local DRAM on a Sapphire Rapids, which no preset is", _has("host", "mlc-sapphirerapids")),
    ("two workloads on the same memory at once: no pattern plays both", _plays_two),
    (
        "a chain of reads, or writes persisted or of another size: no pattern is one",
        _has("exec_mode", "custom"),
    ),
    ("how it was measured is not said", _figure("TUM", "write bandwidth")),
    ("of a module of 128 GB", _figure("Intel 128GB Optane 100", "")),
    ("about another simulator", _figure("LENS", "VANS")),
    ("about another simulator", _figure("LENS", "RMW amplification error")),
    ("about another simulator", _figure("LENS", "gem5")),
    ("about another simulator", _figure("LENS", "Ramulator")),
    ("solved from the pointer chases, which are compared", _figure("LENS", "RMW buffer term")),
    ("solved from the pointer chases, which are compared", _figure("LENS", "AIT buffer term")),
    ("solved from the pointer chases, which are compared", _figure("LENS", "media term")),
    ("taken from the overwrites, which are compared", _figure("LENS", "migration")),
    (_STRUCTURE, _figure("LENS", "")),
    ("what is divided by what is not said", _figure("NVLeak", "amplification score wpq")),
    (_STRUCTURE, _figure("NVLeak", "")),
    (_STRUCTURE, _figure("3 data sets", "")),
    ("taken from the sec23 tables, which are compared", _figure("Liu et al. Sec'23", "")),
    ("of Memory Mode, and with the cost of its fences, which is not said", _figure("KIT", "")),
    ("of local DRAM on a Sapphire Rapids, which no preset is", _figure("SPR + CXL", "")),
    (
        "a range over footprints from 1 GB: its figure for 32 GB and more is compared",
        _figure("ICT", "3DXP/DRAM"),
    ),
    ("a range over footprints from 1 GB: its figure for 32 GB and more is compared", _ict_range),
    ("a bound, not a figure", _figure("ICT", "write/read random")),
    ("a difference: its ratio is compared", _ends("remote-local latency")),
    ("derived from a difference and a ratio rounded to 0.1", _ends("DERIVED = diff/(ratio-1)")),
)
