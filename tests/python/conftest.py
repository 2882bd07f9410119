"""What several test files share: a stand-in for the simulated machine, and running commands."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nearfar.cli import main as cli
from nearfar.errors import InputError
from nearfar.simulate.programs.qemu import front_end, include_folder
from standin import StandIn

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from opened_page import Opened

Run = Callable[..., tuple[int, str, str]]
Compile = Callable[..., Path]


def _front_end_missing() -> str | None:
    try:
        front_end()
    except InputError as error:
        return str(error)
    return None if shutil.which("gcc") else "no gcc"


_MISSING = _front_end_missing()
needs_front_end = pytest.mark.skipif(_MISSING is not None, reason=str(_MISSING))


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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, of which most tests know nothing."""
    from opened_page import launched

    with launched() as browser:
        yield browser


@pytest.fixture
def opened(browser: Browser, file: Path) -> Iterator[Opened]:
    """The page in the `file` of the test's module."""
    from opened_page import Opened

    context = browser.new_context(
        offline=True, viewport={"width": 1280, "height": 900}, color_scheme="light"
    )
    opened = Opened(context.new_page())
    opened.page.goto(file.as_uri())
    yield opened
    context.close()


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compiles C text to a program."""
    folder = tmp_path_factory.mktemp("programs")

    def compile_(name: str, text: str, *options: str) -> Path:
        source = folder / f"{name}.c"
        source.write_text(text)
        program = folder / name
        command = ["gcc", "-O1", "-pthread", f"-I{include_folder()}"]
        subprocess.run([*command, "-o", program, source, *options], check=True)
        return program

    return compile_
