"""Output of lat_mem_rd, Intel MLC and multichase is read as it comes, in any encoding."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from nearfar.inference.curves.raw import raw_observations
from nearfar.probing.findings import findings_of
from nearfar.results import ProbeResult
from nearfar.results.files import parse, to_json
from nearfar.results.findings import IDENTIFIED, Finding

LAT_MEM_RD = '"stride=128\n' + "".join(
    f"{size / 1024:.5f} {ns}\n"
    for size, ns in [
        *((0.5 * 2**step, 1.2) for step in range(7)),  # KiB: to 32
        *((64 * 2**step, 4.0) for step in range(3)),
        *((512 * 2**step, 12.1) for step in range(5)),
        *((16384 * 2**step, 80.3) for step in range(4)),
    ]
)

MLC = """Intel(R) Memory Latency Checker - v3.9
Measuring idle latencies (in ns)...
\t\tNuma node
Numa node\t     0\t     1\t
       0\t  81.2\t 130.2\t
       1\t 130.6\t  80.8\t

Measuring Peak Injection Memory Bandwidths for the system
Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)
Using all the threads from each core if Hyper-threading is enabled
Using traffic with the following read-write ratios
ALL Reads        :\t220000.0\t
3:1 Reads-Writes :\t205000.0\t
2:1 Reads-Writes :\t203000.0\t
1:1 Reads-Writes :\t187000.0\t
Stream-triad like:\t184000.0\t

Measuring Memory Bandwidths between nodes within system
Using Read-only traffic type
\t\tNuma node
Numa node\t     0\t     1\t
       0\t110000.0\t51000.0\t
       1\t51100.0\t111000.0\t

Measuring Loaded Latencies for the system
Using Read-only traffic type
Inject\tLatency\tBandwidth
Delay\t(ns)\tMB/sec
==========================
 00000\t250.00\t 219000.0
 00050\t200.00\t 200000.0
 00100\t120.00\t 180000.0
 00500\t 90.00\t  60000.0
 20000\t 81.00\t   1500.0
"""

MULTICHASE = """nr_threads = 1
page_size = 4096 (4.0 KiB)
total_memory = {size} (0.0 MiB)
stride = 256
tlb_locality = 262144
chase = simple
samples (one column per thread, one row per sample):
   {ns}  avg={ns}
   {ns}  avg={ns}
{ns}
"""


def found(text: str) -> dict[str, Finding]:
    observations = raw_observations("raw", "raw.txt", text)
    assert observations is not None
    return {one.name: one for one in findings_of(observations)}


def test_lat_mem_rd_gives_a_curve_in_mebibytes_whose_rises_are_found() -> None:
    seen = found(LAT_MEM_RD)
    assert seen["levels"].status != IDENTIFIED
    assert seen["levels"].interval == (3, 8)
    low, high = seen["buffer.2.capacity"].interval or (0, 0)
    assert low <= 256 << 10 <= high
    assert seen["buffer.1.latency"].value == 1.2


def test_behind_the_first_cache_lat_mem_rd_may_have_been_prefetched() -> None:
    assert "prefetcher" in found(LAT_MEM_RD)["buffer.2.latency"].reason


def test_strides_of_one_lat_mem_rd_run_are_curves_of_their_own() -> None:
    seen = found(LAT_MEM_RD.replace("128", "16").replace(" 80.3", " 9.9") + "\n" + LAT_MEM_RD)
    assert seen["levels"].interval == (3, 8)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bandwidth.latency.idle", 81.0),
        ("ict.remote", 49.4),
        ("bandwidth.read.peak", 220.0),
        ("bandwidth.mix", 0.85),
    ],
)
def test_mlc_tables_give_the_latency_behind_all_caches(name: str, value: float) -> None:
    seen = found(MLC)[name]
    assert seen.status == IDENTIFIED
    assert seen.value == pytest.approx(value)


def test_loaded_latency_lies_between_the_loads_around_nine_tenths_of_the_most() -> None:
    seen = found(MLC)["bandwidth.latency.loaded"]
    assert seen.interval == (120.0, 200.0)
    assert seen.status == IDENTIFIED


def test_a_matrix_holds_no_curve_and_says_what_one_takes() -> None:
    levels = found(MLC)["levels"]
    assert levels.status != IDENTIFIED
    assert "region_bytes, block_bytes, op, ns_per_line" in levels.reason


def test_nodes_that_answer_alike_give_bounds_that_a_result_can_hold() -> None:
    alike = MLC.replace("130.2", " 79.0").replace("130.6", " 82.0")
    saved = parse(
        json.loads(to_json(ProbeResult(observations=(), findings=[*found(alike).values()])))
    )
    assert isinstance(saved, ProbeResult)
    remote = saved.finding("ict.remote")
    assert remote.status != IDENTIFIED
    assert remote.interval == (0.0, 1.2)


def test_an_idle_latency_below_any_dram_is_a_prefetchers() -> None:
    seen = found("Each iteration took 100.1 core clocks (\t37.3\tns)\n")["bandwidth.latency.idle"]
    assert seen.status != IDENTIFIED
    assert "prefetcher" in seen.reason


def test_idle_latencies_with_buffers_of_several_sizes_are_a_curve() -> None:
    runs = "".join(
        f"Using buffer size of {size / 1024:.3f}MiB\n"
        f"Each iteration took {2 * ns} base frequency clocks (\t{ns}\tns)\n"
        for size, ns in [(8, 1.2), (16, 1.2), (32, 1.2), (64, 4), (128, 4), (256, 4), (8192, 80)]
    )
    assert found(runs)["buffer.1.capacity"].interval is not None


def test_verbose_multichase_runs_are_a_curve_over_their_memory() -> None:
    text = "".join(
        MULTICHASE.format(size=1024 * 2**step, ns=1.2 if step < 6 else 4.0) for step in range(12)
    )
    low, high = found(text)["buffer.1.capacity"].interval or (0, 0)
    assert low <= 32 << 10 <= high
    assert high < 80 << 10


def test_a_multichase_latency_alone_says_that_its_region_is_missing() -> None:
    seen = found("  92.345\n")
    assert seen["memory.latency"].status != IDENTIFIED
    assert "multichase with -v" in seen["memory.latency"].reason


def test_output_without_a_measurement_is_one_clear_line(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    file = tmp_path / "mlc.txt"
    file.write_text("Intel(R) Memory Latency Checker - v3.9\n")
    assert refused("infer", str(file)) == (
        f"{file}: found output of Intel MLC, and no measurement in it"
    )


@pytest.mark.parametrize("text", ["hello\nworld\n", "\n", "12 apples\n", "<html></html>\n"])
def test_any_other_text_is_told_which_columns_a_table_needs(
    refused: Callable[..., str], tmp_path: Path, text: str
) -> None:
    file = tmp_path / "notes.txt"
    file.write_text(text)
    line = refused("infer", str(file))
    assert line.endswith(
        "expected a table with the columns region_bytes, block_bytes, op, ns_per_line"
    )
    assert "JSON" not in line


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("text", [LAT_MEM_RD, MLC])
def test_marks_and_line_ends_of_other_systems_change_nothing(
    nearfar: Run, tmp_path: Path, encoding: str, text: str
) -> None:
    plain, other = tmp_path / "plain" / "out.txt", tmp_path / "other" / "out.txt"
    for file in (plain, other):
        file.parent.mkdir()
    plain.write_text(text)
    other.write_bytes(text.replace("\n", "\r\n").encode(encoding))
    assert nearfar("infer", str(other)) == nearfar("infer", str(plain))


def test_a_table_may_be_called_txt_and_be_separated_by_semicolons(
    nearfar: Run, tmp_path: Path
) -> None:
    file = tmp_path / "t.txt"
    rows = "".join(f"{1024 * 2**k};64;load;repeat;{1.2 if k < 6 else 4}\n" for k in range(12))
    file.write_text("region_bytes;block_bytes;op;regions;ns_per_line\n" + rows)
    status, out, _ = nearfar("infer", str(file))
    assert status == 0
    assert "buffer.1.capacity" in out
