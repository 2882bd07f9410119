"""The page of results names every kind of result and every key that a reader finds in one."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from nearfar import results
from nearfar.results.comparison import ComparedParameter, PairedPoint
from nearfar.results.flat_replay import FlatPolicy, FlatSize
from nearfar.results.tier_replay import NearSize, PolicyMisses

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"[a-z][a-z0-9_]*", " ".join(re.findall(r"`([^`\n]+)`", PAGE))))
KINDS = (
    results.MeasureResult,
    results.ProbeResult,
    results.ComparisonResult,
    results.ValidationResult,
    results.FitResult,
    results.ReplayResult,
    results.PredictionResult,
    results.RunResult,
    results.CrashResult,
    results.SweepResult,
    results.TierReplayResult,
    results.FlatReplayResult,
)
PARTS = (
    results.Target,
    results.Environment,
    results.Precondition,
    results.Point,
    results.Finding,
    results.Observation,
    results.ComparedSeries,
    results.FittedParameter,
    results.FittedSeries,
    results.KeptParameter,
    results.ComparedPoint,
    results.PredictedProgram,
    results.PredictionAccuracy,
    results.RunProcess,
    results.Explored,
    results.Violation,
    results.SweepPoint,
    results.Sensitivity,
    NearSize,
    PolicyMisses,
    FlatSize,
    FlatPolicy,
    ComparedParameter,
    PairedPoint,
)
IN_EXAMPLES = {"id", "prober"}  # shown in the page's JSON alone


@pytest.mark.parametrize("kind", [*KINDS, *PARTS], ids=lambda kind: kind.__name__)
def test_the_page_names_every_key_of_a_result(kind: type) -> None:
    keys = [field.name for field in dataclasses.fields(kind)]
    assert [key for key in keys if key not in NAMED | IN_EXAMPLES] == []


def test_the_page_names_every_schema_that_the_program_writes() -> None:
    written = {
        schema
        for file in (ROOT / "python" / "nearfar").rglob("*.py")
        for schema in re.findall(r'"(nearfar/[a-z-]+/\d+)"', file.read_text(encoding="utf-8"))
    }
    assert sorted(schema for schema in written if f"`{schema}`" not in PAGE) == []
    assert len(written) > 10
