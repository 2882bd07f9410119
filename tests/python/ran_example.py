"""A program's run as a result: two processes, of which one has two threads and two tiers."""

from __future__ import annotations

from nearfar.results import Environment, RunProcess, RunResult, Target
from nearfar.results.machine import Machine
from nearfar.simulate.programs.machine import machine

CAUSES = ("base", "branch", "l1", "l2", "l3", "memory", "tlb", "store_queue", "fence")

# As the core writes it: what every line means is said in core/frontend/report*.cpp.
REPORT = """
begin_ps = 500000
time_ps = 3500000
threads = 2
thread.0.instructions = 6000
thread.0.loads = 900
thread.0.stack.base_ps = 1000000
thread.0.stack.memory_ps = 2000000
thread.0.busy_ps = 3000000
thread.1.instructions = 2000
thread.1.stack.base_ps = 400000
thread.1.stack.memory_ps = 1600000
core.instructions = 8000
core.loads = 900
core.stack.base_ps = 1400000
core.stack.memory_ps = 3600000
core.busy_ps = 5000000
load_latency.count = 10
load_latency.sum_ps = 2000000
load_latency.p50_ps = 150000
load_latency.p90_ps = 300000
load_latency.p99_ps = 700000
load_latency.p999_ps = 700000
load_latency.max_ps = 700000
load_latency.upto.163839 = 6
load_latency.upto.327679 = 3
load_latency.upto.720895 = 1
cache.loads = 900
cache.stores = 100
cache.l1.hits = 950
cache.l2.hits = 20
cache.l3.hits = 10
cache.misses = 15
cache.merged = 5
cache.tlb.1.hits = 0
memory.near.channel.0.dram.reads = 4
memory.near.channel.0.dram.writes = 0
memory.near.channel.0.dram.row_hits = 3
memory.near.channel.0.dram.row_conflicts = 1
memory.near.channel.0.dram.energy.activate_pj = 100
memory.far.channel.0.reads = 8
memory.far.channel.0.writes = 4
memory.far.channel.0.dimm.media.read_bytes = 2048
memory.far.channel.0.dimm.media.write_bytes = 512
memory.far.channel.0.dimm.rmw.hits = 2
memory.far.channel.0.dimm.rmw.misses = 6
memory.far.channel.0.dimm.media.energy.read_pj = 300
moved.pages = 3
moved.lines = 192
near.used_bytes = 8192
far.used_bytes = 12288
pages.unknown = 0
over_time.bucket_ps = 1000000
over_time.0 = 4 0 1 0 0 3000 500000 0 0 0 0 500000 0 0 0
over_time.1 = 0 0 4 1 3 2000 400000 0 0 0 0 1100000 0 0 0
over_time.2 = 0 0 2 3 0 2000 300000 0 0 0 0 1200000 0 0 0
over_time.3 = 0 0 1 0 0 1000 200000 0 0 0 0 800000 0 0 0
thread.0.over_time = 3000 2000 1000 0
thread.1.over_time = 0 0 1000 1000
pages.placed = 5
pages.touched = 3
pages.gone_lines = 1
pages.table_lines = 0
hottest_pages.1 = 8
hottest_pages.2 = 12
hottest_pages.3 = 15
page.4096 = far small memory 5 3
page.8192 = near small memory 4 0
page.1073741824 = far small persistent 2 1
map.4096 = 4096 memory 5 3 0 4096 4 0 4096 0
map.1073741824 = 4096 persistent 2 1 0 4096
written_blocks.bytes = 256
written_blocks.count = 3
most_written_blocks.1 = 2
most_written_blocks.2 = 3
most_written_blocks.3 = 4
written_lines.count = 4
written_lines.writes = 4
written_line.0 = 4096 memory 2 7 5
written_line.1 = 4160 memory 1 7 5
written_line.2 = 0 gone 1 9 0
memory.far.channel.0.dimm.wear.migrations = 10
"""
PERIOD_PS = 500


def figures() -> dict[str, str]:
    """The lines of the report, with all causes."""
    found = dict(line.split(" = ") for line in REPORT.strip().splitlines())
    for prefix in ("thread.0.", "thread.1.", "core."):
        # Where the text says nothing of a cause it took no time.
        ordered = {f"{prefix}stack.{cause}_ps": "0" for cause in CAUSES}
        ordered.update({name: found.pop(name) for name in ordered if name in found})
        found.update(ordered)
    return found


def example_machine() -> Machine:
    return machine(figures(), PERIOD_PS)


def example(name: str = "kv-store") -> RunResult:
    counts = {"instructions": 8000, "loads": 900, "load_bytes": 7200, "stores": 100}
    return RunResult(
        target=Target("model", "optane-100", "model:optane-100", "simulated"),
        environment=Environment(version="0", seed=1, model_hash="0"),
        program={"file": f"/usr/bin/{name}", "arguments": [name, "--fast"]},
        core="window",
        exit_code=0,
        elapsed_ns=4000.0,
        counts=counts,
        processes=(
            RunProcess("/bin/sh", 0, 1, 0.0, 400.0, {"instructions": 100}),
            RunProcess(name, 1, 2, 500.0, 4000.0, counts, example_machine()),
        ),
        notes=("a remark",),
        qemu="7.2",
    )
