"""Sweeps for the tests: works whose answers a test can foretell, and what a store has."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.errors import NearfarError
from nearfar.model import Model
from nearfar.results import Environment, MeasureResult, Point, Target
from nearfar.sweeping.ranges import parse_range
from nearfar.sweeping.study import Study

TARGET = "model:ddr4-2666"


@dataclass(frozen=True)
class Told:
    """A work that says its text's number as `ns_per_line`; `fails` at some, `kills` its process."""

    text: str

    def identity(self) -> dict[str, Any]:
        return {"told": self.text}

    def files(self) -> dict[str, str]:
        return {}

    def check(self, model: Model) -> None:
        pass

    def run(self, model: Model) -> MeasureResult:
        command, _, number = self.text.partition(" ")
        if command == "fails" and float(number) == 2:
            raise NearfarError("two is no number of mine")
        if command == "kills" and float(number) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return told_result(model, float(number) * float(model["seed"]))


def told_result(model: Model, latency: float) -> MeasureResult:
    """A measurement of one point with that latency."""
    point = Point("ntload", 1, 64, latency, 1.0, latency)
    target = Target("model", model.name, f"model:{model.name}", "simulated")
    return MeasureResult(target, Environment("test", 1), {"kind": "chase"}, (point,))


def study(name: str = "told", work: str = "says {n}", **ranges: str) -> Study:
    found = {key: parse_range(key, text) for key, text in ranges.items()}
    return Study(name, (TARGET,), (work,), found)


def rows(store: Path) -> dict[str, tuple[str, ...]]:
    """Every committed point, with everything that the store has of it."""
    with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
        return {row[0]: row[1:] for row in db.execute("SELECT * FROM points")}


def committed(store: Path) -> set[str]:
    """The points that are committed; none before there is a store."""
    try:
        return set(rows(store))
    except sqlite3.OperationalError:
        return set()


def results(store: Path) -> dict[str, str]:
    """The full results' hashes, by their files' names."""
    folder = store.with_suffix(".results")
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.rglob("*.json")
    }


def figures(store: Path) -> list[float]:
    """The one figure of every point, in order of size."""
    return sorted(json.loads(row[1])["ns_per_line"] for row in rows(store).values() if not row[0])
