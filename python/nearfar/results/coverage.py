"""What there is to compare models with: datasets, tables, single figures, and what is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nearfar.results.decode import encode


@dataclass(frozen=True)
class DatasetCard:
    """A dataset that `validate --against` takes; `machine` is what a model must be for it."""

    name: str
    meaning: str
    machine: str
    series: int
    points: int


@dataclass(frozen=True)
class TableCoverage:
    """Of one table: its rows, those behind points by dataset, and the others by reason."""

    table: str
    rows: int
    compared: Mapping[str, int]
    left_out: Mapping[str, int]


@dataclass(frozen=True)
class Figure:
    """A single published figure: the datasets that compare it, or why none does."""

    name: str
    value: str
    compared: Sequence[str]
    reason: str = ""


@dataclass(frozen=True)
class Coverage:
    """Every dataset, every table, and every figure of the tables of single figures."""

    SCHEMA: ClassVar[str] = "nearfar/coverage/1"

    origin: str
    datasets: Sequence[DatasetCard]
    tables: Sequence[TableCoverage]
    figures: Sequence[Figure]

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, as `json.dumps` takes them."""
        return {"schema": self.SCHEMA, **encode(self)}
