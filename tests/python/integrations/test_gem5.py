"""The gem5 integration, on a stand-in of what it uses of gem5, keeps the ports' protocol."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import nearfar
from hosts import ROOT, Seen, Stream, by_arrays, flags, needs_compiler, stream
from nearfar import ReplayOptions

FOLDER = ROOT / "integrations" / "gem5"
TESTS = ROOT / "tests" / "integrations" / "gem5"
pytestmark = needs_compiler


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("gem5") / "host"
    subprocess.run(
        [
            *("g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address"),
            *(f"-I{FOLDER}", f"-I{TESTS / 'stand_in'}"),
            *sorted(FOLDER.glob("*.cc")),
            TESTS / "host.cc",
            *flags(),
            *("-o", program),
        ],
        check=True,
    )
    return program


def run(host: Path, *arguments: str | Path, given: str = "") -> str:
    done = subprocess.run(
        [host, *arguments], input=given, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def by_gem5(host: Path, model: str, requests: Stream, folder: Path) -> Seen:
    said = run(host, model, "stream", folder, given=requests.lines())
    # The port may take a packet for which the model is still to make room: see the trace.
    accepted = [int(line.split()[2]) for line in (folder / "host.trace").read_text().splitlines()]
    done = [int(time) for time in re.findall(r"^(\d+)$", said, re.MULTILINE)]
    times = list(zip(accepted, done, strict=True))
    # A statistic's description is the counter's own name.
    counters = re.findall(r"^system\.nearfar\.\S+ (\d+) # ([a-z][\w.-]*)$", said, re.MULTILINE)
    return Seen(times, {name: int(value) for value, name in counters})


@pytest.mark.parametrize("model", ["ddr4-2666", "optane-100", "cxl-expander", "optane-memory-mode"])
def test_a_stream_takes_the_same_times_in_gem5_as_by_the_library(
    host: Path, model: str, tmp_path: Path
) -> None:
    requests = stream(len(model))
    assert by_gem5(host, model, requests, tmp_path) == by_arrays(f"model:{model}", requests)


@pytest.mark.parametrize("model", ["ddr4-2666", "optane-100"])
def test_a_saturated_memory_is_called_at_most_twice_a_request(
    host: Path, model: str, tmp_path: Path
) -> None:
    requests = replace(stream(7), times_ps=[0] * 2000)
    said = run(host, model, "stream", tmp_path, given=requests.lines())
    events = re.search(r"^system\.nearfar\.events (\d+) ", said, re.MULTILINE)
    assert events is not None
    assert int(events[1]) <= 2 * 2000
    assert by_gem5(host, model, requests, tmp_path) == by_arrays(f"model:{model}", requests)


def test_the_statistics_of_a_run_name_the_model_and_its_trace_replays_alike(
    host: Path, tmp_path: Path
) -> None:
    said = run(host, "optane-100", "stream", tmp_path, given=stream(3).lines())
    model = nearfar.load_model("optane-100")
    assert f"system.nearfar.model 1 # optane-100 sha256:{model.hash()}\n" in said
    ran = json.loads((tmp_path / "system.nearfar.nearfar.json").read_text())
    options = ReplayOptions(format="dramsim3", clock_ps=1, drain=False)
    replayed = nearfar.replay("model:optane-100", tmp_path / "host.trace", options)
    assert ran["environment"]["model_hash"] == replayed.environment.model_hash
    assert ran["requests"] == replayed.requests == 2000
    assert ran["elapsed_ps"] == replayed.elapsed_ps
    # Replay refuses nothing here: each request comes when it was accepted.
    same = {name for name in replayed.counters if not name.endswith("refusals")}
    assert {name: ran["counters"][name] for name in same} == {
        name: replayed.counters[name] for name in same
    }


@pytest.mark.parametrize("model", ["ddr4-2666", "optane-100"])
def test_three_controllers_keep_the_protocol_and_return_what_was_written(
    host: Path, model: str
) -> None:
    said = dict(line.split() for line in run(host, model, "crowd").splitlines())
    assert said["checked"] == "900"
    assert int(said["refusals"]) > 1000, "the memory never refused"


@pytest.mark.parametrize("model", ["ddr4-2666", "optane-100", "cxl-hybrid"])
def test_atomic_and_functional_access_checkpoints_and_idle_time_keep_their_rules(
    host: Path, model: str, tmp_path: Path
) -> None:
    assert run(host, model, "rules", tmp_path) == "rules hold\n"


def test_an_unknown_model_is_one_line(host: Path) -> None:
    done = subprocess.run([host, "optane-10", "rules"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.match(r"fatal: nearfar: optane-10: cannot be read .*\n\Z", done.stderr)


def test_the_python_parts_are_python() -> None:
    for name in ("NearfarObjects.py", "nearfar.py", "SConscript"):
        ast.parse((FOLDER / name).read_text(), name)
