"""Whether DAMON can watch what a process reads is found out from files of the kernel's."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nearfar.cli.tier.managing import complain_of_end
from nearfar.errors import InputError
from nearfar.tier.attach import machine, run
from nearfar.tier.attach.damon import claimed_damon, damon_obstacle
from nearfar.tier.attach.target import Target
from nearfar.tier.flat import FlatOptions
from nearfar.tier.machine import Obstacle
from nearfar.tier.outcome import Outcome

_KDAMONDS = "sys/kernel/mm/damon/admin/kdamonds"
_NEAR = 1 << 20
_EVENT = "sys/kernel/tracing/events/damon/damon_aggregated"


@pytest.fixture
def kernel(tmp_path: Path) -> Callable[..., Path]:
    """Files of a kernel that has DAMON: where they lie."""

    def make(kinds: str = "vaddr\nfvaddr\npaddr\n", used: str = "0\n", trace: bool = True) -> Path:
        contexts = tmp_path / _KDAMONDS / "0/contexts"
        (contexts / "0").mkdir(parents=True)
        (tmp_path / _KDAMONDS / "nr_kdamonds").write_text(used)
        (contexts / "0/avail_operations").write_text(kinds)
        if trace:
            (tmp_path / _EVENT).mkdir(parents=True)
        return tmp_path

    return make


def test_a_kernel_with_damon_is_used_and_left_as_it_was(kernel: Callable[..., Path]) -> None:
    root = kernel()
    assert damon_obstacle(root) is None
    assert (root / _KDAMONDS / "nr_kdamonds").read_text() == "0"


def test_a_kernel_without_damon_is_said_to_be_one(tmp_path: Path) -> None:
    obstacle = damon_obstacle(tmp_path)
    assert obstacle is not None
    assert "was built without DAMON" in obstacle.reason
    assert "CONFIG_DAMON_VADDR" in obstacle.mend


def test_events_that_are_not_there_are_got_by_a_mount(kernel: Callable[..., Path]) -> None:
    obstacle = damon_obstacle(kernel(trace=False))
    assert obstacle is not None
    assert obstacle.mend == "mount -t tracefs none /sys/kernel/tracing"


def test_damon_that_watches_no_processes_is_refused(kernel: Callable[..., Path]) -> None:
    obstacle = damon_obstacle(kernel(kinds="paddr\n"))
    assert obstacle is not None
    assert "watches no parts of a process's memory" in obstacle.reason


def test_damon_that_another_program_has_set_up_is_left_alone(kernel: Callable[..., Path]) -> None:
    root = kernel(used="2\n")
    obstacle = damon_obstacle(root)
    assert obstacle is not None
    assert "another program has set DAMON up" in obstacle.reason
    assert (root / _KDAMONDS / "nr_kdamonds").read_text() == "2\n"


@pytest.mark.parametrize("module", ["damon_stat", "damon_reclaim", "damon_lru_sort"])
def test_damon_that_the_kernel_itself_uses_is_left_alone(
    kernel: Callable[..., Path], module: str
) -> None:
    root = kernel()
    enabled = root / f"sys/module/{module}/parameters/enabled"
    enabled.parent.mkdir(parents=True)
    enabled.write_text("N\n")
    assert damon_obstacle(root) is None
    enabled.write_text("Y\n")
    obstacle = damon_obstacle(root)
    assert obstacle is not None
    assert f"the kernel's own {module} uses DAMON" in obstacle.reason
    assert obstacle.mend == f"echo N > /sys/module/{module}/parameters/enabled"


def test_damon_that_cannot_be_set_up_is_left_as_it_was(kernel: Callable[..., Path]) -> None:
    root = kernel()
    (root / _KDAMONDS / "0/contexts/0/avail_operations").unlink()
    obstacle = damon_obstacle(root)
    assert obstacle is not None
    assert "DAMON cannot be set up: No such file" in obstacle.reason
    assert (root / _KDAMONDS / "nr_kdamonds").read_text() == "0"


def test_damon_that_a_killed_manager_left_is_used(kernel: Callable[..., Path]) -> None:
    root = kernel(used="1\n")
    (root / "sys/kernel/tracing/instances/nearfar").mkdir(parents=True)
    assert damon_obstacle(root) is None


def test_a_second_manager_is_told_that_damon_is_used(kernel: Callable[..., Path]) -> None:
    root = kernel()
    with claimed_damon(root):
        obstacle = damon_obstacle(root)
    assert obstacle is not None
    assert "used by another `nearfar tier attach`" in obstacle.reason


@pytest.mark.parametrize(
    ("options", "obstacle", "chosen"),
    [
        (FlatOptions(), None, "damon"),
        (FlatOptions(), Obstacle("for root"), "dirty"),
        (FlatOptions(detector="dirty"), None, "dirty"),
        (FlatOptions(policy="static"), None, "dirty"),
        (FlatOptions(policy="static", detector="damon"), None, "damon"),
    ],
)
def test_reads_are_watched_where_they_can_be_unless_others_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
    options: FlatOptions,
    obstacle: Obstacle | None,
    chosen: str,
) -> None:
    monkeypatch.setattr(machine, "damon_obstacle", lambda: obstacle)
    monkeypatch.setattr(machine, "attach_obstacle", lambda: None)
    monkeypatch.setattr(machine, "notes_writes", lambda: True)
    assert machine.attach_settings("node:0", options).detector == chosen


class _Refused:
    """A manager where the kernel refuses to begin with DAMON; its fourth look finds events lost."""

    begun: list[bool]

    def __init__(self, *, watches_reads: bool, **_: object) -> None:
        self.begun.append(watches_reads)
        self.looks = 0
        if watches_reads:
            raise InputError("DAMON is in other use")

    def counts(self) -> dict[str, int]:
        return {"near": 0, "far": 0, "far_peak": 0, "lost_events": 12 if self.looks >= 3 else 0}

    def has_ended(self) -> bool:
        self.looks += 1
        return self.looks > 6

    def is_settled(self) -> bool:
        return True

    def is_paused(self) -> bool:
        return False

    def limit(self) -> tuple[int, int]:
        return (1, 0)

    def stop(self) -> None:
        pass


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """The kernel refuses to begin with DAMON: whether each manager was to watch reads."""
    begun: list[bool] = []
    monkeypatch.setattr(_Refused, "begun", begun, raising=False)
    monkeypatch.setattr(run, "AttachManager", _Refused)
    monkeypatch.setattr(run, "check_process", lambda _: None)
    monkeypatch.setattr(run, "claimed_damon", lambda: claimed_damon(Path(f"/{os.getpid()}")))
    monkeypatch.setattr(run, "serving", lambda _: contextlib.nullcontext())
    monkeypatch.setattr(machine, "damon_obstacle", lambda: None)
    monkeypatch.setattr(machine, "attach_obstacle", lambda: None)
    monkeypatch.setattr(machine, "notes_writes", lambda: True)
    return begun


def test_a_start_that_the_kernel_refuses_is_made_with_dirty_and_lost_events_are_said_once(
    refusing: list[bool],
) -> None:
    said: list[str] = []
    settings = machine.attach_settings("node:0", FlatOptions())
    stats = run.manage(Target(os.getpid(), "it"), _NEAR, settings, lambda: None, said.append)
    assert refusing == [True, False]
    assert (stats["detector"], stats["lost_events"]) == ("dirty", 12)
    assert len(said) == 1
    assert "12 events of DAMON were lost" in said[0]
    claimed_damon(Path(f"/{os.getpid()}")).close()


def test_a_start_that_the_kernel_refuses_is_an_error_where_damon_was_asked_for(
    refusing: list[bool],
) -> None:
    settings = machine.attach_settings("node:0", FlatOptions(detector="damon"))
    target = Target(os.getpid(), "it")
    with pytest.raises(InputError, match="in other use"), run.managing(target, _NEAR, settings):
        pass
    assert refusing == [True]


def test_events_that_were_lost_are_said_at_the_end_of_a_program(
    capsys: pytest.CaptureFixture[str],
) -> None:
    complain_of_end(Outcome(0, _NEAR, "raminate", {}, lost_events=12), "tier", "the program")
    complain_of_end(Outcome(0, _NEAR, "raminate", {}), "tier", "the program")
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "tier: 12 events of DAMON were lost" in said
