"""`nearfar measure host`: the real kernels on this machine's memory, for what they do, not for
how fast they do it."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from nearfar.results import parse

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the kernels are written for x86-64"
)

BRIEF = ("--seconds", "0", "--quiet")


@pytest.mark.parametrize("op", ["load", "ntload", "load+store", "store", "ntstore", "raw"])
@pytest.mark.parametrize("regions", ["fresh", "repeat"])
def test_a_chase_of_every_operation_has_its_point(nearfar: Run, op: str, regions: str) -> None:
    status, out, err = nearfar(
        *("measure", "host", "chase", "--region", "4KiB,64KiB", "--op", op),
        *("--regions", regions, "--lines", "2048", *BRIEF, "--json", "-"),
    )
    assert (status, err) == (0, "")
    data = json.loads(out)
    parse(data)
    assert [point["region_bytes"] for point in data["points"]] == [4096, 65536]
    for point in data["points"]:
        assert point["lines"] == 2048 * (2 if op == "raw" else 1)
        assert point["ns_per_line"] > 0
        assert point["gb_per_s"] == pytest.approx(64 / point["ns_per_line"])
        assert point["repetitions"] == 1
    assert data["target"] == {
        "kind": "host", "name": "memory", "spec": "host", "mode": "measured",
    }  # fmt: skip


def test_every_option_of_a_chase_is_taken(nearfar: Run) -> None:
    status, out, _ = nearfar(
        *("measure", "host", "chase", "--region", "16KiB", "--block", "256B", "--stride", "512B"),
        *("--op", "load", "--successors", "table", "--fence", "block", "--fence-kind", "cpuid"),
        *("--lines", "256", "--seed", "3", *BRIEF, "--json", "-"),
    )
    assert status == 0
    pattern = json.loads(out)["pattern"]
    assert pattern["stride_bytes"] == 512
    assert pattern["successors"] == "table"
    assert pattern["fence_kind"] == "cpuid"


def test_the_other_patterns_run(nearfar: Run) -> None:
    for arguments in (
        ("stream", "--op", "load,ntstore", "--area", "1MiB", "--lines", "4096"),
        ("stream", "--op", "store", "--stride", "random", "--area", "1MiB", "--lines", "4096"),
        ("stream", "--op", "ntstore", "--reads", "70%", "--area", "1MiB", "--lines", "4096"),
        ("stream", "--op", "load+store", "--area", "1MiB", "--lines", "4096"),
        (
            "stream",
            "--op",
            "store",
            "--value",
            "0xf0,0x0f",
            "--held",
            "0x12345678",
            "--area",
            "1MiB",
            "--lines",
            "4096",
        ),
        ("contention", "--other", "none", "--area", "1MiB", "--reads", "1000"),
    ):
        status, out, err = nearfar("measure", "host", *arguments, *BRIEF, "--json", "-")
        assert (status, err) == (0, "")
        assert all(point["ns_per_line"] > 0 for point in json.loads(out)["points"])


def test_an_overwrite_has_a_sample_for_each_write(nearfar: Run) -> None:
    status, out, _ = nearfar(
        "measure", "host", "overwrite", "--writes", "500", "--quiet", "--json", "-"
    )
    assert status == 0
    data = json.loads(out)
    assert len(data["samples"]) == 500
    assert min(data["samples"]) >= 0


def test_a_fresh_file_is_measured_and_gone(nearfar: Run, tmp_path: Path) -> None:
    status, out, err = nearfar(
        *("measure", f"host:file={tmp_path}/fresh", "chase", "--region", "64KiB"),
        *("--lines", "1024", *BRIEF, "--json", "-"),
    )
    assert status == 0
    assert json.loads(out)["target"]["name"] == f"{tmp_path}/fresh"
    assert list(tmp_path.iterdir()) == []
    if "bad" in [p["state"] for p in json.loads(out)["environment"]["preconditions"]
                 if p["name"] == "direct access"]:  # fmt: skip
        assert "is measured in the page cache" in err


def test_a_file_that_holds_something_is_refused_unless_it_is_named(
    nearfar: Run, refused: Callable[..., str], tmp_path: Path
) -> None:
    file = tmp_path / "precious"
    file.write_bytes(b"x" * (64 << 10))
    chase = ("chase", "--region", "64KiB", "--op", "ntstore", "--lines", "1", *BRIEF)
    assert refused("measure", f"host:file={file}", *chase) == (
        f"file: {file} holds 65536 B, which measuring destroys; --destructive {file} allows it"
    )
    assert file.read_bytes() == b"x" * (64 << 10)
    assert nearfar("measure", f"host:file={file}", *chase, "--destructive", file)[0] == 0
    assert file.stat().st_size == 64 << 10
    assert file.read_bytes() != b"x" * (64 << 10)


@pytest.mark.parametrize(
    ("target", "arguments", "complaint"),
    [
        ("host:file=/no/such/file", (), "its folder does not exist"),
        ("host:file=/dev/nearfar0", (), "no such device"),
        ("host:file=/dev/null", (), "is a device, but not one of memory"),
        ("host:file=.", (), "is a folder; name a file in it"),
        ("host:node=99", (), "no memory on node 99"),
        ("host:pages=3MiB", (), "expected one of 4KiB, 2MiB, 1GiB"),
        ("host", ("--region", "64TiB"), "beyond the"),
        ("host", ("--threads", "100000"), "processors of this machine"),
        ("host", ("--agent", "none"), "agent: none is for models"),
        ("host", ("--destructive", "x"), "is not what is measured"),
        ("host", ("--seconds", "soon"), "found 'soon', expected a number of seconds"),
        ("host", ("--op", "lode"), "did you mean load?"),
        ("hosts", (), "found target 'hosts'"),
    ],
)
def test_bad_input_is_one_line(
    refused: Callable[..., str], target: str, arguments: tuple[str, ...], complaint: str
) -> None:
    assert complaint in refused("measure", target, "chase", "--region", "4KiB", *arguments)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("stream", "--op", "store", "--value", "0xf"), "value: found '0xf', expected hexadecimal"),
        (("stream", "--op", "store", "--value", "0xf0,xyz1"), "value: found 'xyz1'"),
        (("stream", "--op", "load", "--value", "0xf0"), "value: load writes nothing"),
        (("stream", "--op", "store", "--held", ""), "held: found ''"),
        (("contention", "--delay", "5"), "delay: found '5' without a unit"),
        (("contention", "--delay", "5ns,-1ns"), "delay: found -1ns, expected a time of zero"),
        (("contention", "--other", "none", "--delay", "5ns"), "other: none leaves no thread"),
        (("contention", "--threads", "100000"), "threads: 100001 are more than the"),
    ],
)
def test_bad_input_of_other_patterns_is_one_line(
    refused: Callable[..., str], arguments: tuple[str, ...], complaint: str
) -> None:
    assert complaint in refused("measure", "host", *arguments)


def test_a_gigantic_page_is_there_or_the_line_says_how_to_get_it(nearfar: Run) -> None:
    status, _, err = nearfar(
        "measure", "host:pages=1GiB", "chase", "--region", "64KiB", "--lines", "1", *BRIEF
    )
    free = Path("/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages")
    if free.exists() and int(free.read_text()) > 0:
        assert (status, err) == (0, "")
    else:
        assert status == 2
        assert "as root: echo 1 > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages" in err


def test_measuring_leaves_this_process_where_it_may_run(nearfar: Run) -> None:
    before = os.sched_getaffinity(0)
    nearfar("measure", "host", "chase", "--region", "4KiB", "--lines", "64", *BRIEF)
    assert os.sched_getaffinity(0) == before
