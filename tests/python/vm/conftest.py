"""What tests of machines share.

Machines are found by name among all of this user's, and pools divide memory among all of them: so
one file's machines run at a time, in whichever worker.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Run


@pytest.fixture(scope="module", autouse=True)
def _alone() -> Iterator[None]:
    path = Path(tempfile.gettempdir(), f"nearfar-tests-{os.getuid()}.lock")
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where sockets are, of this test alone, and no hurry on a machine that has other work."""
    monkeypatch.setattr("nearfar.vm.qmp._PATIENCE", 120.0)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def vm(nearfar: Run) -> Callable[..., dict[str, Any]]:
    """A verb of `nearfar vm` that succeeds: its JSON."""

    def run(*words: str) -> dict[str, Any]:
        status, out, err = nearfar("vm", *words, "--json", "-")
        assert (status, err) == (0, "")
        found: dict[str, Any] = json.loads(out)
        return found

    return run
