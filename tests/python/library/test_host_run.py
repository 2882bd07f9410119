"""A host's statistics and trace say which model was in use, and compare with a replay."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

import nearfar
from hosts import build, needs_compiler, stream
from nearfar.cli import main as cli

HOST = r"""
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nearfar/memory.hpp>

// host MODEL TRACE STATISTICS: reads requests as the examples do.
int main(int, char** argv) {
  auto memory = nearfar::Memory::open(argv[1]);
  memory.record(argv[2]);
  nearfar_request request{};
  std::uint64_t due = 0;
  std::string address;
  char op = 0;
  while (std::cin >> due >> address >> op) {
    request.address = std::stoull(address, nullptr, 0);
    request.op = op == 'W' ? NEARFAR_WRITE : NEARFAR_READ;
    bool sent = memory.send(request, due > memory.now() ? due : memory.now());
    while (!sent) {
      bool woken = false;
      memory.wait([&](const nearfar_completion& come) { woken |= come.kind == NEARFAR_WAKE; });
      if (woken) sent = memory.send(request, memory.now());
    }
  }
  while (memory.next_event() != NEARFAR_NEVER) memory.wait([](const nearfar_completion&) {});
  std::ofstream(argv[3]) << memory.statistics();
  std::_Exit(0);  // as hosts end that leave their objects to the kernel, such as gem5
}
"""


@pytest.fixture
def ran(tmp_path: Path) -> tuple[Path, Path]:
    """The statistics and the trace of a host that ran on two channels of optane-100."""
    source = tmp_path / "host.cpp"
    source.write_text(HOST)
    model, trace, statistics = (tmp_path / name for name in ("m.model", "t.trace", "s.json"))
    target = "model:optane-100,channels=2"
    assert cli.main(["model", "export", target, "-o", str(model)]) == 0
    subprocess.run(
        [build(source, tmp_path), model, trace, statistics],
        input=stream(5).lines(), text=True, check=True,
    )  # fmt: skip
    return statistics, trace


@needs_compiler
def test_compare_shows_that_a_host_used_the_model_that_a_replay_of_its_trace_used(
    ran: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    statistics, trace = ran
    replayed, compared = tmp_path / "replayed.json", tmp_path / "compared.json"
    options = ["--format", "dramsim3", "--clock", "1ps", "--no-drain", "--json", str(replayed)]
    assert cli.main(["replay", "model:optane-100,channels=2", str(trace), *options]) == 0
    capsys.readouterr()
    assert cli.main(["compare", str(statistics), str(replayed), "--json", str(compared)]) == 0

    data = json.loads(compared.read_text())
    (model,) = data["parameters"]
    digest = nearfar.load_model("optane-100").override(channels=2).hash()[:12]
    assert model["a"] == model["b"] == f"optane-100,channels=2 {digest}"
    assert not model["differs"]
    assert [one["label"] for one in data["points"] if one["differs"]] == []
    assert {"requests", "simulated time", "channel.1.reads"} <= {
        one["label"] for one in data["points"]
    }


@needs_compiler
def test_compare_shows_that_a_host_used_another_model(
    ran: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    statistics, trace = ran
    replayed = tmp_path / "replayed.json"
    options = ["--format", "dramsim3", "--clock", "1ps", "--json", str(replayed)]
    assert cli.main(["replay", "model:optane-100", str(trace), *options]) == 0
    capsys.readouterr()
    assert cli.main(["compare", str(statistics), str(replayed)]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^model +optane-100,channels=2 \w+ +optane-100 \w+ .*differs$", said, re.M)
