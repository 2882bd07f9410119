"""A program that is started to be managed from outside, where that does not come about."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from nearfar.errors import NearfarError
from nearfar.tier.attach import launch
from nearfar.tier.flat import FlatOptions
from nearfar.tier.waiting import start


@pytest.mark.parametrize("failure", [NearfarError("no socket"), KeyboardInterrupt()])
def test_a_program_that_is_not_managed_is_ended(
    monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def remembered(*words: Any) -> subprocess.Popen[bytes]:
        started.append(start(*words))
        return started[0]

    @contextlib.contextmanager
    def fails(*_: object) -> Iterator[None]:
        raise failure
        yield

    monkeypatch.setattr(launch, "start", remembered)
    monkeypatch.setattr(launch, "attach_settings", lambda *_: None)
    monkeypatch.setattr(launch, "managing", fails)
    with pytest.raises(type(failure)):
        launch.run_from_outside("/bin/sleep", ["sleep", "60"], 1 << 20, "node:0", FlatOptions())
    assert started[0].returncode == -signal.SIGKILL
