"""What several test files share: a stand-in for the simulated machine, and running commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nearfar.cli import main as cli
from standin import StandIn

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def core() -> StandIn:
    """A machine whose answers a test can foretell."""
    return StandIn()


@pytest.fixture
def nearfar(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in this process: its status, standard output, standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        capfd.readouterr()
        status = cli.main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return status, out, err

    return run


@pytest.fixture
def refused(nearfar: Run) -> Callable[..., str]:
    """Run a command line that must fail as bad input does: one line, status 2, no output."""

    def run(*arguments: str) -> str:
        status, out, err = nearfar(*arguments)
        assert status == 2
        assert out == ""
        assert err.startswith("nearfar: ")
        assert err.count("\n") == 1
        assert err.endswith("\n")
        return err.removeprefix("nearfar: ").rstrip("\n")

    return run


@pytest.fixture
def reference() -> Path:
    """The tables that come with nearfar."""
    return Path(__file__).resolve().parents[2] / "reference"
