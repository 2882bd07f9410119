"""The SST backend, on a stand-in of the few classes that it uses, and its times."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hosts import ROOT, by_arrays, by_program, flags, needs_compiler, stream

FOLDER = ROOT / "integrations" / "sst"
TESTS = ROOT / "tests" / "integrations" / "sst"
pytestmark = needs_compiler


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("sst") / "host"
    subprocess.run(
        [
            *("g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address"),
            *(f"-I{FOLDER}", f"-I{TESTS / 'stand_in'}"),
            *(FOLDER / "nearfar_backend.cc", TESTS / "host.cc"),
            *flags(),
            *("-o", program),
        ],
        check=True,
    )
    return program


@pytest.mark.parametrize("model", ["ddr4-2666", "optane-100", "cxl-expander", "optane-memory-mode"])
def test_a_stream_takes_the_same_times_in_sst_as_by_the_library(host: Path, model: str) -> None:
    requests = stream(len(model))
    assert by_program([host, model, "stream"], requests) == by_arrays(f"model:{model}", requests)


@pytest.mark.parametrize("model", ["ddr4-2666", "optane-100", "cxl-hybrid"])
def test_polling_long_requests_checkpoints_and_idle_time_keep_their_rules(
    host: Path, model: str
) -> None:
    done = subprocess.run([host, model, "rules"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "rules hold\n")


def test_an_unknown_model_is_one_line(host: Path) -> None:
    done = subprocess.run([host, "optane-10", "rules"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("memory:backend: model: optane-10: cannot be read")
    assert done.stderr.count("\n") == 1
