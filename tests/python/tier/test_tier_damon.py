"""Whether DAMON can watch what a process reads is found out from files of the kernel's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nearfar.tier.attach import machine
from nearfar.tier.attach.damon import claimed_damon, damon_obstacle
from nearfar.tier.flat import FlatOptions
from nearfar.tier.machine import Obstacle

_KDAMONDS = "sys/kernel/mm/damon/admin/kdamonds"
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
