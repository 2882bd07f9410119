"""Single published figures: rows of system, metric, conditions, value and unit."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.simulate.validation.tables import Row, Table, Tables

COLUMNS = ("system", "metric", "conditions", "value", "unit")


def figures(tables: Tables, system: str) -> Iterator[tuple[Table, Row]]:
    """The figures of the systems whose names begin so."""
    for table in tables.with_columns(*COLUMNS):
        for row in table.rows:
            if row["system"].startswith(system):
                yield table, row
