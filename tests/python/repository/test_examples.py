"""The example programs run as they do natively, and show what their headers say to look at."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from nearfar.results import RunResult
from nearfar.results.machine import Machine
from running import EXAMPLES, build, missing, native, simulated

_MISSING = missing("redis-server", "redis-benchmark", "fio") or (
    "" if Path("/usr/include/libpmemobj.h").exists() else "no libpmemobj"
)
pytestmark = pytest.mark.skipif(_MISSING != "", reason=_MISSING)

# A processor whose caches a small program outgrows.
SMALL = "cpu.l2.size=128KiB,cpu.l3.size=1MiB,cpu.l3.ways=8,cpu.l3.slices=1"
LIBRARIES = {
    "pmem_list.c": ("-lpmemobj",),
    "ycsb.c": ("-lpmem", "-lm"),
    "tpcc.c": ("-lpmem",),
    "mapped_io.c": ("-lpmem", "-lm"),
}
ENVIRONMENT = {**os.environ, "PMEM_IS_PMEM_FORCE": "1"}


def largest(ran: RunResult) -> Machine:
    """The machine of the process that executed most."""
    process = max(ran.processes, key=lambda process: process.counts["instructions"])
    assert process.machine is not None
    return process.machine


@pytest.mark.parametrize(
    ("example", "arguments"),
    [
        ("sort.sh", ["1000"]),
        ("compile.sh", ["1"]),
        ("fio.sh", ["64K"]),
        ("stream.c", ["16384", "3"]),
        ("pmem_list.c", ["{folder}/pool", "60", "2", "7", "400", "3"]),
        ("ycsb.c", ["A", "{folder}/pool", "100", "100"]),
        ("ycsb.c", ["E", "{folder}/pool", "100", "20"]),
        ("tpcc.c", ["{folder}/pool", "2", "100", "30", "200"]),
        ("mapped_io.c", ["{folder}/file", "64K", "500", "zipf"]),
    ],
)
def test_an_example_gives_the_results_that_it_gives_natively(
    example: str, arguments: list[str], tmp_path: Path
) -> None:
    script = example.endswith(".sh")
    program = (
        EXAMPLES / example if script else build(example, tmp_path, *LIBRARIES.get(example, ()))
    )
    words = [program, *(word.format(folder=tmp_path) for word in arguments)]
    printed, status = native(words, ENVIRONMENT)
    assert (status, printed != "") == (0, True)
    # fio looks at the clock millions of times, which says nothing about the memory.
    core = "count" if example == "fio.sh" else "window"
    options = ("--core", core, "--pmem", str(tmp_path))
    text, _, ran = simulated("model:optane-100", words, ENVIRONMENT, *options)
    assert (text, ran.exit_code) == (printed, status)
    assert ran.counts["flushes_unresolved"] == 0
    if example in ("stream.c", "pmem_list.c"):
        assert max(process.threads for process in ran.processes) >= 3


@pytest.mark.parametrize("workload", "ABCDEF")
def test_each_workload_of_ycsb_finds_what_it_wrote(workload: str, tmp_path: Path) -> None:
    program = build("ycsb.c", tmp_path, *LIBRARIES["ycsb.c"])
    for seed in ("1", "2"):
        printed, status = native(
            [program, workload, tmp_path / "pool", "3000", "3000", seed], ENVIRONMENT
        )
        assert status == 0
        assert printed.startswith(f"workload {workload}: 3")
        assert printed.endswith(", 0 wrong\n")


def test_tpcc_keeps_its_conditions_with_orders_rolled_back(tmp_path: Path) -> None:
    program = build("tpcc.c", tmp_path, *LIBRARIES["tpcc.c"])
    printed, status = native([program, tmp_path / "pool", "3", "20000"], ENVIRONMENT)
    found = re.fullmatch(r"(\d+) new orders, (\d+) payments, (\d+) rolled back, 0 wrong\n", printed)
    assert status == 0
    assert found is not None
    orders, payments, rolled_back = map(int, found.groups())
    assert orders + payments + rolled_back == 20000
    assert 60 < rolled_back < 150
    assert payments / 20000 == pytest.approx(43 / 88, abs=0.02)


def test_redis_under_ycsb_answers_its_client_as_natively(tmp_path: Path) -> None:
    client = build("redis_ycsb.c", tmp_path, "-lm")
    for workload in "AE":
        words = [EXAMPLES / "redis_ycsb.sh", client, workload, "30", "30"]
        printed, status = native(words, ENVIRONMENT)
        assert status == 0
        assert printed.endswith(", 0 wrong\n")
        text, _, ran = simulated("model:optane-100", words, ENVIRONMENT, "--core", "count")
        assert (text, ran.exit_code) == (printed, status)


def test_a_program_that_flushes_never_leaves_its_core(tmp_path: Path) -> None:
    """What it tells of its flushes takes no time: all of the run is in the causes of its time."""
    program = build("ycsb.c", tmp_path, *LIBRARIES["ycsb.c"])
    words = [program, "A", tmp_path / "pool", "100", "300"]
    options = ("--pmem", str(tmp_path), "--roi")
    _, _, ran = simulated("model:optane-100", words, ENVIRONMENT, *options)
    machine = largest(ran)
    assert ran.counts["flushes_told"] > 300
    assert sum(machine.core.stack_ps.values()) / 1000 == pytest.approx(machine.time_ns, rel=0.01)


def test_the_most_written_lines_of_a_workload_are_its_log_and_move_most(tmp_path: Path) -> None:
    """MICRO 2020, figure 12."""
    program = build("ycsb.c", tmp_path, *LIBRARIES["ycsb.c"])
    words = [program, "A", tmp_path / "pool", "500", "2000"]
    options = ("--pmem", str(tmp_path), "--roi")
    model = "model:optane-100,nvdimm.wear.writes=200"
    _, _, ran = simulated(model, words, ENVIRONMENT, *options)
    written = largest(ran).memory.written_lines
    assert len(written.lines) == 10
    assert written.lines[0].kind == "persistent"
    assert written.writes_of_these() > 0.4 * written.writes
    assert written.moves > 5
    assert written.moves_of_these() > 0.8 * written.moves


def test_a_load_costs_many_times_what_another_instruction_does_beyond_the_caches(
    tmp_path: Path,
) -> None:
    """MICRO 2020, figure 12: reads are slow for misses of the last cache and the TLBs."""
    program = build("ycsb.c", tmp_path, *LIBRARIES["ycsb.c"])
    words = [program, "C", tmp_path / "pool", "2000", "500"]
    options = ("--pmem", str(tmp_path), "--roi")
    _, _, ran = simulated(f"model:optane-100,{SMALL}", words, ENVIRONMENT, *options)
    cost = largest(ran).load_cost
    assert cost is not None
    assert cost.cycles_per_load > 5 * cost.cycles_per_other
    assert 0.5 * cost.cycles_per_load < cost.llc_cycles_per_load < cost.cycles_per_load
    assert cost.llc_misses_per_1000 > 1


def test_a_pointer_chase_measures_the_latencies_of_the_model(tmp_path: Path) -> None:
    target = f"model:ddr4-2666,{SMALL}"
    chase = build("chase.c", tmp_path)
    words = [chase, "16", "96", "640", "8192"]
    text, timings, _ = simulated(target, words, ENVIRONMENT, "--pages", "huge")
    assert text == native(words, ENVIRONMENT)[0]
    took = [float(found) for found in re.findall(r"KiB: ([\d.]+) ns", timings)]
    measured = subprocess.run(
        [sys.executable, "-m", "nearfar", "measure", target, "chase", "--region", "8MiB",
         "--block", "64B", "--op", "load", "--regions", "repeat", "--json", "-", "--quiet"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    behind_l3 = json.loads(measured.stdout)["points"][0]["ns_per_line"]
    assert took == pytest.approx([2.3, 6.4, 22.0, behind_l3], rel=0.01)


def test_getting_keys_from_redis_is_mostly_waiting_for_caches_and_tlbs() -> None:
    """MICRO 2020, section VI; gets alone, as the difference of many and few of them.

    A core and a data set, both scaled down: what is compared is that misses take most. The keys
    outgrow the caches twice over, and there are so many gets that what differs between two
    starts of the server is little beside them.
    """
    tiny = "cpu.l2.size=64KiB,cpu.l3.size=128KiB,cpu.l3.ways=8,cpu.l3.slices=1"
    tlb = "cpu.tlb.l1.entries=16,cpu.tlb.l2.entries=48"

    def stack(gets: str) -> Mapping[str, int]:
        words = [EXAMPLES / "redis.sh", "2000", gets]
        text, _, ran = simulated(f"model:optane-100,{tiny},{tlb}", words, ENVIRONMENT)
        assert text == native(words, ENVIRONMENT)[0]
        return largest(ran).core.stack_ps

    few, many = stack("80"), stack("2080")
    gets = {cause: many[cause] - few[cause] for cause in many}
    misses = gets["tlb"] + gets["l2"] + gets["l3"] + gets["memory"]
    assert misses > max(gets["base"], gets["branch"])


# TLBs and caches that a list of some hundred pages outgrows.
FEW_PAGES = (
    "model:optane-100,cpu.core.kind=simple,cpu.l1.size=4KiB,cpu.l2.size=8KiB,cpu.l2.ways=8,"
    "cpu.l3.size=16KiB,cpu.l3.ways=8,cpu.l3.slices=1,cpu.tlb.l1.entries=16,cpu.tlb.l2.entries=96"
)


def test_a_walk_by_marked_pointers_misses_the_tlbs_less_with_pretranslation(tmp_path: Path) -> None:
    program = build("pmem_list.c", tmp_path, *LIBRARIES["pmem_list.c"])

    def walks(model: str) -> int:
        words = [program, tmp_path / "pool", "900", "1", "0", "4000", "5"]
        _, _, ran = simulated(model, words, ENVIRONMENT, "--pmem", str(tmp_path))
        assert ran.counts["marked_loads"] == 5 * 600
        return largest(ran).counters["cache.tlb.walks"]

    # The first walk teaches the DIMM; of the others none needs a page walk.
    saved = walks(FEW_PAGES) - walks(f"{FEW_PAGES},nvdimm.pretranslation.enabled=true")
    assert saved > 0.9 * 4 * 600


def test_skewed_updates_wear_few_blocks(tmp_path: Path) -> None:
    """MICRO 2020, section VI: the most written lines take most of a key-value store's writes."""
    program = build("pmem_map.c", tmp_path, "-lpmemobj")

    def share_of_hottest(kind: str) -> float:
        words = [program, tmp_path / kind, "300", "3000", kind]
        options = ("--pmem", str(tmp_path), "--roi")
        text, _, ran = simulated("model:optane-100", words, ENVIRONMENT, *options)
        assert text == native(words, ENVIRONMENT)[0]
        blocks = largest(ran).memory.written_blocks
        return blocks.sums[blocks.most.index(4)] / blocks.sums[-1]

    even, skewed = share_of_hottest("even"), share_of_hottest("skewed")
    assert even < 0.1
    assert skewed > 0.4
