"""Measuring and probing this machine: what is refused, in one line, and what Ctrl-C keeps."""

from __future__ import annotations

import ctypes
import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import Run
from host_standin import HostStandIn
from nearfar.measuring import conditions, environment, machine, run
from nearfar.probing import probe as whole
from nearfar.results import MeasureResult, ProbeResult, load

CHASE = ("chase", "--region", "64KiB", "--op", "ntstore", "--lines", "1", "--seconds", "0")
PROBE = ("--prober", "aist", "--quick")


@pytest.fixture(params=["measure", "probe"])
def said(request: pytest.FixtureRequest, refused: Callable[..., str]) -> Callable[..., str]:
    """What a command says of a target that it refuses."""
    command, rest = request.param, CHASE if request.param == "measure" else PROBE

    def say(target: str, *more: str) -> str:
        words = ("measure", target, *rest) if command == "measure" else ("probe", target, *rest)
        return refused(*words, *more)

    return say


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("/dev/nearfar0", "does not exist: no such device"),
        ("/no/such/file", "its folder does not exist"),
        ("/dev/null", "is a device, but not one of memory"),
        ("/proc/nearfar", "cannot be made"),
        ("/", "is a folder; name a file in it"),
    ],
)
def test_a_place_without_memory_is_refused(
    said: Callable[..., str], path: str, complaint: str
) -> None:
    answer = said(f"host:file={path}")
    assert path in answer
    assert complaint in answer


def test_a_file_that_is_too_small_is_refused(said: Callable[..., str], tmp_path: Path) -> None:
    file = tmp_path / "small"
    file.write_bytes(b"x" * 4096)
    answer = said(f"host:file={file}", "--destructive", str(file))
    assert "4096 B" in answer
    assert file.read_bytes() == b"x" * 4096


def test_a_file_in_use_is_refused(said: Callable[..., str], tmp_path: Path) -> None:
    file = tmp_path / "busy"
    file.write_bytes(b"x" * (1 << 20))
    with file.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        answer = said(f"host:file={file}", "--destructive", str(file))
    assert "in use" in answer
    assert file.read_bytes() == b"x" * (1 << 20)


@pytest.fixture
def ordinary() -> Iterator[None]:
    """Permissions of files hold for this thread, even if it is root's."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this thread
    held = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; then the upper halves
    assert libc.capget(header, held) == 0
    reduced = (ctypes.c_uint32 * 6)(*held)
    reduced[0] &= ~0b111  # CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    assert libc.capset(header, reduced) == 0
    yield
    assert libc.capset(header, held) == 0


@pytest.mark.usefixtures("ordinary")
def test_a_file_that_may_not_be_written_is_refused(
    said: Callable[..., str], tmp_path: Path
) -> None:
    file = tmp_path / "read-only"
    file.write_bytes(b"x" * (1 << 20))
    file.chmod(0o400)
    assert "may not be written by this user" in said(
        f"host:file={file}", "--destructive", str(file)
    )


# Ctrl-C


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> HostStandIn:
    """Two processors whose memory answers at once."""
    core = HostStandIn()
    for module in (run, environment, whole, conditions):
        if hasattr(module, "load_host_core"):
            monkeypatch.setattr(module, "load_host_core", lambda: core)
    monkeypatch.setattr(machine, "processors", lambda: [0, 1])
    monkeypatch.setattr(machine, "free_memory", lambda _: 8 << 30)
    monkeypatch.setattr(machine, "memory_nodes", lambda: [0])
    return core


def test_an_interrupted_measurement_keeps_its_points(
    nearfar: Run, made_up: HostStandIn, tmp_path: Path
) -> None:
    made_up.interrupt_at = 4
    file = tmp_path / "part.json"
    status, out, _ = nearfar(
        *("measure", "host", "chase", "--region", "4KiB,8KiB,16KiB", "--lines", "1"),
        *("--json", str(file)),
    )
    assert status == 130
    assert "interrupted: only the finished points are shown" in out
    kept = load(str(file))
    assert isinstance(kept, MeasureResult)
    assert kept.interrupted
    assert sum(point.repetitions or 0 for point in kept.points) == 4


def test_an_interrupted_probe_of_this_machine_goes_on_with_the_missing_probers(
    nearfar: Run, made_up: HostStandIn, tmp_path: Path
) -> None:
    part, rest = tmp_path / "part.json", tmp_path / "rest.json"
    probe = ("probe", "host", "--quick", "--prober", "aist,ict")
    made_up.interrupt_at = 60  # aist is over, ict has begun
    status, _, err = nearfar(*probe, "--json", str(part))
    assert status == 130
    assert f"continue with: nearfar probe --resume {part}" in err
    kept = load(str(part))
    assert isinstance(kept, ProbeResult)
    assert kept.interrupted
    assert {one.prober for one in kept.observations} == {"aist", "ict"}

    made_up.interrupt_at = None
    made_up.asked.clear()
    status, _, _ = nearfar("probe", "--resume", str(part), "--json", str(rest))
    assert status == 0
    assert "load+store" not in {one.get("op") for one in made_up.asked}  # aist is not played again
    whole = load(str(rest))
    assert isinstance(whole, ProbeResult)
    assert not whole.interrupted
    again = nearfar(*probe, "--json", str(part))
    assert again[0] == 0
    assert [one.name for one in whole.findings] == [one.name for one in load(str(part)).findings]  # type: ignore[union-attr]
