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
        ("pmem_list.c", ["{folder}/pool", "60", "2"]),
    ],
)
def test_an_example_gives_the_results_that_it_gives_natively(
    example: str, arguments: list[str], tmp_path: Path
) -> None:
    libraries = ["-lpmemobj"] if example.startswith("pmem") else []
    script = example.endswith(".sh")
    program = EXAMPLES / example if script else build(example, tmp_path, *libraries)
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
