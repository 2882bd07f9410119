"""`nearfar measure`: its options reach the pattern, its errors are one line, Ctrl-C is kind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Run
from nearfar.results import load, parse

MODEL = "model:optane-100"


def points(out: str) -> list[dict[str, Any]]:
    data = json.loads(out)
    parse(data)
    found: list[dict[str, Any]] = data["points"]
    return found


def test_a_stream_of_loads_and_stores_writes_every_line_back(nearfar: Run) -> None:
    status, out, _ = nearfar(
        *("measure", MODEL, "stream", "--op", "load,load+store", "--access", "256B"),
        *("--area", "64MiB", "--lines", "4096", "--json", "-"),
    )
    assert status == 0
    read, changed = points(out)
    assert read["media_write_bytes"] == 0
    written = changed["media_write_bytes"] / changed["write_amplification"]
    assert written >= 64 * changed["lines"]


def test_a_list_that_is_persisted_on_the_way_writes_every_line_and_follows_its_loads(
    nearfar: Run,
) -> None:
    status, out, _ = nearfar(
        *("measure", MODEL, "chase", "--op", "load,store+clwb,load+store+clwb"),
        *("--region", "1MiB", "--fence", "block", "--fence-kind", "sfence"),
        *("--lines", "16384", "--json", "-"),
    )
    assert status == 0
    read, stored, persisted = points(out)
    written = persisted["media_write_bytes"] / persisted["write_amplification"]
    assert written >= 0.99 * 64 * persisted["lines"]  # the last ones are still on the DIMM
    # Stores that follow a table wait for no load; those of a list do.
    assert stored["ns_per_line"] < read["ns_per_line"] <= persisted["ns_per_line"]


def test_a_persisted_list_needs_caches(nearfar: Run) -> None:
    status, _, error = nearfar(
        *("measure", MODEL + ",cpu.caches=false", "chase", "--op", "load+store+clwb"),
        *("--region", "64KiB"),
    )
    assert status == 2
    assert "'load+store+clwb' needs a core with caches" in error


def test_a_chase_has_one_point_a_size_and_operation(nearfar: Run) -> None:
    status, out, _ = nearfar(
        *("measure", MODEL, "chase", "--region", "4KiB,16KiB,1MiB", "--block", "64B"),
        *("--op", "ntstore,ntload", "--lines", "4096", "--json", "-"),
    )
    assert status == 0
    assert [(p["region_bytes"], p["op"]) for p in points(out)] == [
        (region, op) for region in (4096, 16384, 1 << 20) for op in ("ntstore", "ntload")
    ]
    for point in points(out):
        assert point["lines"] == max(4096, point["region_bytes"] // 64)
        assert point["gb_per_s"] == pytest.approx(64 / point["ns_per_line"])
        assert point["block_bytes"] == 64
        assert point["media_read_bytes"] >= 0


def test_every_option_of_a_chase_is_taken(nearfar: Run) -> None:
    status, out, _ = nearfar(
        *("measure", MODEL, "chase", "--region", "4KiB", "--block", "256B", "--op", "raw"),
        *("--regions", "repeat", "--fence", "block", "--fence-kind", "sfence", "--threads", "2"),
        *("--lines", "256", "--seed", "3", "--agent", "none", "--outstanding", "4"),
        *("--json", "-", "--quiet"),
    )
    assert status == 0
    assert json.loads(out)["pattern"] == {
        "kind": "chase",
        "region_bytes": [4096],
        "block_bytes": 256,
        "op": ["raw"],
        "regions": "repeat",
        "fence": "block",
        "fence_kind": "sfence",
        "threads": [2],
        "outstanding": 4,
        "agent": "none",
        "lines": 256,
        "seed": 3,
        "whole": True,
    }


def test_an_overwrite_has_a_sample_for_each_write(nearfar: Run) -> None:
    status, out, _ = nearfar(
        *("measure", MODEL, "overwrite", "--region", "256B", "--writes", "2000"),
        *("--op", "ntstore", "--json", "-"),
    )
    assert status == 0
    data = json.loads(out)
    assert len(data["samples"]) == 2000
    assert sum(data["samples"]) <= data["points"][0]["elapsed_ns"] * 1.001
    assert min(data["samples"]) > 0


def test_every_option_of_a_stream_is_taken(nearfar: Run) -> None:
    status, out, _ = nearfar(
        *("measure", MODEL, "stream", "--op", "ntstore,store+clwb", "--access", "256B"),
        *("--stride", "random", "--threads", "1,4", "--area", "64MiB", "--reads", "70%"),
        *("--outstanding", "8", "--fence-every", "1KiB", "--agent", "core", "--lines", "4096"),
        *("--json", "-"),
    )
    assert status == 0
    found = points(out)
    assert [(p["op"], p["threads"]) for p in found] == [
        (op, threads) for op in ("ntstore", "store+clwb") for threads in (1, 4)
    ]
    assert {p["stride_bytes"] for p in found} == {"random"}
    assert json.loads(out)["pattern"]["reads_percent"] == 70


def test_two_runs_write_the_same_bytes(nearfar: Run, tmp_path: Path) -> None:
    for name in ("a", "b"):
        nearfar(
            *("measure", MODEL, "chase", "--region", "4KiB,64KiB", "--op", "ntstore,ntload"),
            *("--lines", "4096", "--json", tmp_path / name, "--quiet"),
        )
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_text_has_a_row_a_point_and_json_to_a_file_does_not_replace_it(
    nearfar: Run, tmp_path: Path
) -> None:
    status, out, err = nearfar(
        *("measure", MODEL, "chase", "--region", "4KiB,8KiB", "--lines", "128"),
        *("--json", tmp_path / "r.json"),
    )
    assert (status, err) == (0, "")
    assert len(out.splitlines()) == 4
    assert "4 KiB" in out
    assert len(load(tmp_path / "r.json").to_dict()["points"]) == 2


def test_quiet_prints_nothing(nearfar: Run) -> None:
    assert nearfar("measure", MODEL, "chase", "--region", "4KiB", "--lines", "64", "--quiet") == (
        0,
        "",
        "",
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("chase", "--region", "0"), "region: found 0 B, expected a size above zero"),
        (("chase", "--region", "100B"), "not a multiple of 64 B"),
        (("chase", "--region", "64B", "--block", "128B"), "larger than the region"),
        (("chase", "--region", "1TiB"), "beyond the 274877906944 B of memory"),
        (("chase", "--region", "4KiB", "--op", "ntlod"), "did you mean ntload?"),
        (("chase", "--region", "4KiB", "--threads", "two"), "found 'two', expected a whole number"),
        (("chase", "--region", "4KiB", "--regoin", "1"), "--region"),
        (("chase",), "--region"),
        (("stream", "--op", "load", "--area", "512GiB"), "beyond the 274877906944 B"),
        (("stream", "--op", "lode"), "did you mean load?"),
        (("overwrite", "--region", "64B"), "not a multiple of 256 B"),
        (("chaes",), "did you mean chase?"),
        (("chase", "--region", "4KiB", "--json", "/no/such/folder/r.json"), "/no/such/folder"),
        (("chase", "--region", "4KiB", "--json", "/"), "is a folder"),
    ],
)
def test_bad_input_is_one_line(
    refused: Callable[..., str], arguments: tuple[str, ...], complaint: str
) -> None:
    assert complaint in refused("measure", MODEL, *arguments)


def test_an_unknown_model_is_refused(refused: Callable[..., str]) -> None:
    assert "optane-100" in refused("measure", "model:optane-10", "chase", "--region", "4KiB")


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [
        (signal.SIGINT, 130, "nearfar: interrupted\n"),
        (signal.SIGTERM, 143, "nearfar: terminated\n"),
        (signal.SIGHUP, 129, "nearfar: terminal closed\n"),
    ],
)
def test_a_measurement_that_is_told_to_end_writes_the_finished_points(
    tmp_path: Path, number: int, status: int, said: str
) -> None:
    file = tmp_path / "r.json"
    # The first points take milliseconds and the last one hours.
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", _ANNOUNCING, "measure", MODEL, "chase"),
            *("--region", "4KiB,8KiB,100GiB", "--block", "4KiB", "--json", str(file), "--quiet"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "2 of 3\n"
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (status, said)
    data = json.loads(file.read_text())
    assert data["interrupted"] is True
    assert [p["region_bytes"] for p in data["points"]] == [4096, 8192]


# Runs the command line, and says on standard output when the second point is finished.
_ANNOUNCING = """
import sys
from nearfar.cli import progress
from nearfar.cli.main import main

def told(self, done, total):
    if done == 2:
        print(f"{done} of {total}", flush=True)

progress.ProgressBar.__call__ = told
sys.exit(main())
"""


def test_a_repeated_region_larger_than_the_lines_asked_for_is_walked_whole(nearfar: Run) -> None:
    """After a first walk that fills the buffers and does not count."""
    status, out, _ = nearfar(
        *("measure", MODEL, "chase", "--regions", "repeat", "--region", "1MiB", "--lines", "64"),
        *("--json", "-"),
    )
    assert status == 0
    (point,) = points(out)
    assert point["lines"] == (1 << 20) // 64
    assert point["ns_per_line"] == pytest.approx(310, rel=0.15)
