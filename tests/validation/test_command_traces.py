"""What `nearfar replay --command-trace` writes passes the independent DRAM checker."""

from __future__ import annotations

import csv
import random
import subprocess
from pathlib import Path

import pytest

import nearfar
from nearfar.model import load_target

ROOT = Path(__file__).resolve().parents[2]
CHECKER = ROOT / "build" / "release" / "tests" / "cpp" / "check_trace"

MACHINES = [
    ("ddr4-2400", "dram"),
    ("ddr4-2666", "dram"),
    ("ddr4-2933,dram.ranks=2,dram.page=closed", "dram"),
    ("ddr4-3200,dram.ranks=4,dram.refresh.postpone=0", "dram"),
    ("ddr4-2666,dram.powerdown.idle=16,dram.selfrefresh.idle=2000", "dram"),
    ("ddr4-2666,dram.width=16,dram.density_gbit=16", "dram"),
    ("ddr5-4800", "dram"),
    ("ddr5-5600,channels=2,dram.ranks=2,dram.page=closed", "dram"),
    ("ddr5-4800,dram.width=4,dram.powerdown.idle=16,dram.selfrefresh.idle=2000", "dram"),
    ("ddr5-4800,dram.refresh.granularity=2x,dram.refresh.banks=same", "dram"),
    ("ddr5-5600,dram.width=16,dram.refresh.granularity=2x,dram.refresh.banks=same", "dram"),
    ("optane-100", "nvdimm.dram"),
    ("optane-100,channels=2", "nvdimm.dram"),
]


def write_trace(path: Path, accesses: int) -> None:
    """A DRAMsim3 trace: bursts of random and sequential accesses with pauses between them."""
    dice = random.Random(accesses)
    cycle = line = 0
    with path.open("w") as out:
        for index in range(accesses):
            if index % 100 == 0:
                cycle += dice.choice((0, 50, 5000))
            line = line + 1 if dice.random() < 0.5 else dice.randrange(1 << 24)
            out.write(f"0x{64 * line:x} {'READ' if dice.random() < 0.7 else 'WRITE'} {cycle}\n")
            cycle += dice.randrange(8)


def check(trace: Path, settings: Path, prefix: str) -> subprocess.CompletedProcess[str]:
    assert CHECKER.exists(), "make test builds the checker"
    return subprocess.run(
        [CHECKER, trace, settings, prefix], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(("machine", "prefix"), MACHINES)
@pytest.mark.parametrize("pace", ["trace", "asap"])
def test_every_command_keeps_the_standard(
    tmp_path: Path, machine: str, prefix: str, pace: str
) -> None:
    model = load_target(f"model:{machine}")
    write_trace(tmp_path / "trace.txt", 5000)
    commands = tmp_path / "commands.csv"
    nearfar.replay(
        model, tmp_path / "trace.txt", nearfar.ReplayOptions(pace=pace, command_trace=commands)
    )
    (tmp_path / "settings.txt").write_text(model.export())

    verdict = check(commands, tmp_path / "settings.txt", prefix)
    assert verdict.returncode == 0, verdict.stdout + verdict.stderr
    with commands.open() as rows:
        columns = [row["command"] for row in csv.DictReader(rows)]
    refresh = "REFSB" if "refresh.banks=same" in machine else "REF"
    assert {"ACT", refresh} <= set(columns)
    assert sum(column.startswith(("RD", "WR")) for column in columns) > 1000


def test_subchannels_are_channels_of_their_own_in_a_trace(tmp_path: Path) -> None:
    write_trace(tmp_path / "trace.txt", 500)
    commands = tmp_path / "commands.csv"
    model = load_target("model:ddr5-4800,channels=2")
    nearfar.replay(model, tmp_path / "trace.txt", nearfar.ReplayOptions(command_trace=commands))
    with commands.open() as rows:
        assert {row["channel"] for row in csv.DictReader(rows)} == {"0", "1", "2", "3"}


def test_a_command_moved_forward_is_noticed(tmp_path: Path) -> None:
    model = nearfar.load_model("ddr4-2666")
    write_trace(tmp_path / "trace.txt", 200)
    commands = tmp_path / "commands.csv"
    nearfar.replay(model, tmp_path / "trace.txt", nearfar.ReplayOptions(command_trace=commands))
    (tmp_path / "settings.txt").write_text(model.export())

    lines = commands.read_text().splitlines()
    first_read = next(i for i, line in enumerate(lines) if ",RD," in line)
    time, rest = lines[first_read].split(",", 1)
    lines[first_read] = f"{int(time) - 750},{rest}"
    commands.write_text("\n".join(lines) + "\n")
    verdict = check(commands, tmp_path / "settings.txt", "dram")
    assert verdict.returncode == 1
    assert "violations" in verdict.stdout
