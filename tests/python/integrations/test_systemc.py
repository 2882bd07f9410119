"""The SystemC target keeps the protocol of TLM-2.0, and its times are those of the library."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hosts import ROOT, by_arrays, by_program, flags, needs_compiler, stream

SYSTEMC = Path("/usr/include/systemc.h")
pytestmark = [
    needs_compiler,
    pytest.mark.skipif(not SYSTEMC.exists(), reason="no SystemC (libsystemc-dev)"),
]


@pytest.fixture(autouse=True)
def _without_banner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SC_COPYRIGHT_MESSAGE", "DISABLE")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("systemc") / "host"
    subprocess.run(
        [
            *("g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"),
            f"-I{ROOT / 'integrations' / 'systemc'}",
            ROOT / "tests" / "integrations" / "systemc" / "host.cpp",
            *flags(),
            *("-lsystemc", "-o", program),
        ],
        check=True,
    )
    return program


def run(host: Path, model: str, mode: str) -> str:
    done = subprocess.run([host, model, mode], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("model", ["ddr4-2666", "optane-100", "cxl-expander", "optane-memory-mode"])
def test_a_stream_takes_the_same_times_in_systemc_as_by_the_library(host: Path, model: str) -> None:
    requests = stream(len(model))
    assert by_program([host, model, "stream"], requests) == by_arrays(f"model:{model}", requests)


@pytest.mark.parametrize("model", ["ddr4-2666", "optane-100"])
def test_several_initiators_keep_the_protocol_and_read_what_they_wrote(
    host: Path, model: str
) -> None:
    said = dict(line.rsplit(" ", 1) for line in run(host, model, "crowd").splitlines() if line)
    assert said["checked"] == "1200"
    assert int(said["held back"]) > 100, "the memory never pushed back"


def test_a_target_refuses_direct_access_answers_errors_and_has_no_event_when_idle(
    host: Path,
) -> None:
    assert "rules hold" in run(host, "optane-100", "rules")


def test_an_unknown_model_is_named_in_one_report(host: Path) -> None:
    done = subprocess.run([host, "optane-10", "rules"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "optane-10: cannot be read or is empty" in done.stdout + done.stderr
