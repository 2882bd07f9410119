"""Probe results are saved and loaded whole, and a finding's name is one of a closed list."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.errors import InputError
from nearfar.results import Finding, Observation, ProbeResult, load, save
from nearfar.results.findings import NAMES, identified, not_identifiable

RESULT = ProbeResult(
    pattern={"kind": "probe", "probers": ["buffers"], "quick": True},
    observations=(
        Observation(
            id="buffers.1",
            prober="buffers",
            pattern={
                "kind": "sequence",
                "order": {"kind": "walk", "params": {}, "seed": 1},
                "effort": [],
            },
            accesses=3,
            histogram=((72.5, 2), (300.0, 1)),
            samples=(72.5, 72.5, 300.0),
        ),
    ),
    findings=(
        identified("buffer.1.capacity", 4096, "it fits", ["buffers.1"], (4096, 4160)),
        identified("buffer.1.policy", "lru", "by its order", ["buffers.1"]),
        not_identifiable("modules", "not looked for", []),
    ),
)


def test_a_probe_result_comes_back_from_its_file_as_it_was(tmp_path: Path) -> None:
    save(RESULT, tmp_path / "probe.json")
    assert load(tmp_path / "probe.json") == RESULT


def test_a_result_with_points_is_still_read_as_one(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"schema": "nearfar/result/1", "pattern": {}}')
    with pytest.raises(InputError, match="target is missing"):
        load(tmp_path / "bad.json")


def test_a_number_without_an_interval_is_exact() -> None:
    assert identified("modules", 6, "", []).interval == (6, 6)
    assert identified("buffer.2.policy", "fifo", "", []).interval is None


def test_units_come_from_the_list_of_names() -> None:
    assert identified("buffer.12.capacity", 64, "", []).unit == "B"
    assert not_identifiable("migration.period", "", []).unit == "writes"


@pytest.mark.parametrize("name", ["capacity", "buffer.capacity", "buffer.N.size", "levels.1"])
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="no such name"):
        Finding(name, 1, "", None, "identified", "")


def test_an_unknown_status_is_refused() -> None:
    with pytest.raises(InputError, match="no such status"):
        Finding("levels", 1, "", None, "guessed", "")


def test_a_finding_is_looked_up_by_name() -> None:
    assert RESULT.finding("buffer.1.policy").value == "lru"
    with pytest.raises(KeyError):
        RESULT.finding("lsq.lines")


def test_every_name_has_a_meaning() -> None:
    assert all(meaning for _, meaning in NAMES.values())
