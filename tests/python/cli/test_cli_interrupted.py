"""Ctrl-C is one line and a status, whenever it comes."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

# The command line behind the first two words, interrupted when the first is imported: then, or
# when the process ends.
INTERRUPTED = """
import atexit, os, runpy, signal, sys

name, when = sys.argv[1:3]
sys.argv[1:3] = []

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

class Interrupts:
    def find_spec(self, found, *_):
        if found == name:
            atexit.register(interrupt) if when == "end" else interrupt()

sys.meta_path.insert(0, Interrupts())
runpy.run_module("nearfar", run_name="__main__")
"""


def interrupted(
    module: str, *, when: str = "then", prepare: Callable[[], object] | None = None
) -> tuple[int, str, str]:
    """What `nearfar model list` answers: its status, standard output, standard error."""
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module, when, "model", "list"],
        capture_output=True, text=True, check=False, timeout=60, preexec_fn=prepare,
    )  # fmt: skip
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.parametrize(
    "module", ["nearfar.cli.main", "nearfar.errors", "nearfar.cli.model", "nearfar.model.load"]
)
def test_an_interrupt_while_modules_are_loaded_is_one_line(module: str) -> None:
    assert interrupted(module) == (130, "", "nearfar: interrupted\n")


def test_an_interrupt_as_the_process_ends_is_one_line() -> None:
    status, out, err = interrupted("nearfar.cli.main", when="end")
    assert (status, err) == (130, "nearfar: interrupted\n")
    assert "optane-100" in out


@pytest.mark.parametrize("when", ["then", "end"])
def test_ignored_interrupts_stay_ignored(when: str) -> None:
    def ignore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    status, out, err = interrupted("nearfar.cli.main", when=when, prepare=ignore)
    assert (status, err) == (0, "")
    assert "optane-100" in out
