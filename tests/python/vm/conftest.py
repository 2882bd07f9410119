"""Machines are found by name among all of this user's, and pools divide memory among all of them:
so one file's machines run at a time, in whichever worker."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="module", autouse=True)
def _alone() -> Iterator[None]:
    path = Path(tempfile.gettempdir(), f"nearfar-tests-{os.getuid()}.lock")
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
