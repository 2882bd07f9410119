"""`nearfar validate` and `nearfar report`, with the real machine behind them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from nearfar.results import ValidationResult, load, parse

MODEL = "model:optane-100"
SMALL = ("--against", "chase-1dimm-4096", "--quick")


def test_a_validation_prints_a_row_a_series_and_writes_the_same_numbers(
    nearfar: Run, tmp_path: Path
) -> None:
    status, out, err = nearfar("validate", MODEL, *SMALL, "--json", tmp_path / "v.json")
    assert (status, err) == (0, "")
    document = load(tmp_path / "v.json")
    assert isinstance(document, ValidationResult)
    rows = {line.split()[0]: line.split() for line in out.splitlines()[2:]}
    assert list(rows) == ["chase-1dimm-4096-load", "chase-1dimm-4096-store", "all"]
    for series in document.series:
        assert rows[series.name][1:4] == [
            str(series.n),
            f"{series.mean:.3f}",
            f"{series.worst:.3f}",
        ]


def test_the_json_has_every_documented_field(nearfar: Run) -> None:
    status, out, _ = nearfar("validate", MODEL, *SMALL, "--json", "-")
    assert status == 0
    data = json.loads(out)
    parse(data)
    for series in data["series"]:
        assert {"name", "n", "mean", "worst", "ceiling", "points", "mean_abs_log"} <= set(series)
        assert len(series["points"]) == series["n"]
        for point in series["points"]:
            assert point["accuracy"] == pytest.approx(
                max(0, 1 - abs(point["simulated"] - point["real"]) / point["real"])
            )


def test_two_validations_are_equal_byte_for_byte_however_many_processes(
    nearfar: Run, tmp_path: Path
) -> None:
    for jobs in (1, 3):
        nearfar(
            "validate", MODEL, *SMALL, "--jobs", jobs, "--json", tmp_path / f"{jobs}", "--quiet"
        )
    assert (tmp_path / "1").read_bytes() == (tmp_path / "3").read_bytes()


def test_a_page_of_a_saved_validation_is_the_page_of_the_run(nearfar: Run, tmp_path: Path) -> None:
    nearfar(
        *("validate", MODEL, *SMALL, "--quiet"),
        *("--json", tmp_path / "v.json", "--html", tmp_path / "run.html"),
    )
    status, out, err = nearfar("report", tmp_path / "v.json", "-o", tmp_path / "saved.html")
    assert (status, out, err) == (0, "", "")
    assert (tmp_path / "saved.html").read_bytes() == (tmp_path / "run.html").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("validate", MODEL, "--against", "demmo"), "did you mean demo?"),
        (("validate", MODEL, "--against", "/no/such/folder"), "unknown dataset '/no/such/folder'"),
        (("validate", MODEL, "--html", "/no/such/folder/p.html"), "/no/such/folder/p.html"),
        (("validate", "model:ddr4-2666", "--against", "demo"), "nothing in demo fits a dram"),
        (("validate", MODEL, "--json"), "--json"),
        (("validate", MODEL, "--jobs", "0"), "jobs: found 0, expected at least 1"),
        (("report", "/no/such/file.json", "-o", "-"), "/no/such/file.json"),
        (("report", "x.json"), "-o"),
    ],
)
def test_bad_input_is_one_line(
    refused: Callable[..., str], arguments: tuple[str, ...], complaint: str
) -> None:
    assert complaint in refused(*arguments)


def test_a_page_of_something_else_is_refused(
    nearfar: Run, refused: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "t.trace").write_text("LD 0x0\n")
    nearfar("replay", MODEL, tmp_path / "t.trace", "--json", tmp_path / "r.json", "--quiet")
    complaint = refused("report", tmp_path / "r.json", "-o", tmp_path / "p.html")
    assert "found schema nearfar/replay/1: a page shows probes, measurements, " in complaint
    assert not (tmp_path / "p.html").exists()


def test_ctrl_c_ends_the_workers_and_keeps_the_finished_points(tmp_path: Path) -> None:
    file = tmp_path / "v.json"
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", _ANNOUNCING, "validate", MODEL),
            *("--against", "chase-1dimm-4096", "--json", str(file), "--quiet"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "3 finished\n"
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the whole group gets it
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "nearfar: interrupted\n")
    document = load(file)
    assert isinstance(document, ValidationResult)
    assert document.interrupted
    assert 6 <= sum(series.n for series in document.series) < 104


# Runs the command line, and says on standard output when three runs are finished.
_ANNOUNCING = """
import sys
from nearfar.cli import progress
from nearfar.cli.main import main

def told(self, done, total):
    if done == 3:
        print("3 finished", flush=True)

progress.ProgressBar.__call__ = told
sys.exit(main())
"""
