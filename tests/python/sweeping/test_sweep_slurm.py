"""A sweep on a real Slurm, one controller and one node on loopback, without accounting."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import swept
from nearfar.errors import InputError, NearfarError
from nearfar.model import Model
from nearfar.results import MeasureResult
from nearfar.sweeping import on_slurm, slurm_jobs
from nearfar.sweeping.sweep import SweepOptions, sweep
from slurm_loopback import ARRAY_SIZE, NEEDED, PARTITION, LoopbackSlurm
from swept import Told

submitit = pytest.importorskip("submitit")
distributed = pytest.importorskip("distributed")
pytestmark = NEEDED

Run = Callable[..., tuple[int, str, str]]
Refused = Callable[..., str]
ON = f"slurm:partition={PARTITION}"
TESTS = str(Path(__file__).resolve().parents[1])
CHASE = "measure chase --region {region} --lines 256 --op ntload,ntstore"
SPACE = ("model:optane-100", "--set", "region=4KiB..1MiB:x4", "--set", "channels=1,2")
WORDS = ("sweep", *SPACE, "--for", CHASE)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackSlurm]:
    yield from started(tmp_path_factory.mktemp("slurm"))


def started(folder: Path) -> Iterator[LoopbackSlurm]:
    found = LoopbackSlurm(folder)
    try:
        found.start()
        yield found
    finally:
        found.stop()


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[LoopbackSlurm], None]:
    """A sweep that asks often, in an empty folder, of the Slurm that it is given."""

    def become(slurm: LoopbackSlurm) -> None:
        for name in ("SLURM_CONF", "PATH"):
            monkeypatch.setenv(name, slurm.environment[name])
        monkeypatch.setenv("PYTHONPATH", TESTS)  # workers import the works of the tests
        monkeypatch.setattr(on_slurm, "_LOOKS_S", 0.2)
        monkeypatch.chdir(tmp_path)

    return become


@pytest.fixture
def slurm(running: LoopbackSlurm, user: Callable[[LoopbackSlurm], None]) -> LoopbackSlurm:
    user(running)
    return running


@pytest.fixture
def own(
    tmp_path_factory: pytest.TempPathFactory, user: Callable[[LoopbackSlurm], None]
) -> Iterator[LoopbackSlurm]:
    """One that the test may break."""
    for found in started(tmp_path_factory.mktemp("own")):
        user(found)
        yield found


def options(jobs: int = 2) -> SweepOptions:
    return SweepOptions(on=ON, jobs=jobs)


def test_the_same_study_has_the_same_bytes_on_processes_dask_and_slurm(
    nearfar: Run, slurm: LoopbackSlurm, tmp_path: Path
) -> None:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        engines = {
            "processes.db": ("--jobs", "2"),
            "dask.db": ("--on", f"dask:{cluster.scheduler_address}"),
            "slurm.db": ("--on", ON, "--jobs", "2"),
        }
        for store, words in engines.items():
            found = nearfar(*WORDS, "--store", store, *words)
            assert found[0] == 0, found
            assert "10 of 10 points, 10 computed now" in found[1]
    stores = [tmp_path / name for name in engines]
    one, *others = [(swept.rows(store), swept.results(store)) for store in stores]
    assert len(one[1]) == 10
    assert others == [one, one]
    assert not slurm.ask("squeue", "--noheader")


@pytest.mark.usefixtures("slurm")
def test_points_that_fail_on_slurm_are_kept_as_failed(tmp_path: Path) -> None:
    tally = sweep(swept.study(work="fails {n}", n="1..4"), tmp_path / "f.db", Told, options())
    assert (tally.computed, tally.failed, tally.first_error) == (4, 1, "two is no number of mine")


def test_more_workers_than_an_array_takes_are_several_arrays(
    slurm: LoopbackSlurm, tmp_path: Path
) -> None:
    tally = sweep(swept.study(n="1..300"), tmp_path / "a.db", Told, options(ARRAY_SIZE + 1))
    assert (tally.computed, tally.failed) == (300, 0)
    jobs = slurm.ask("squeue", "--noheader", "--states=all", "--array", "--format", "%i %j")
    names = [line.split() for line in jobs.splitlines()]
    workers = [job for job, name in names if name == names[-1][1]]
    assert workers
    assert all("_" not in job or int(job.partition("_")[2]) < ARRAY_SIZE for job in workers)


@pytest.mark.usefixtures("slurm")
def test_a_point_that_ends_its_slurm_workers_fails_and_the_others_do_not(tmp_path: Path) -> None:
    tally = sweep(swept.study(work="kills {n}", n="1..5"), tmp_path / "k.db", Told, options())
    assert (tally.computed, tally.failed) == (5, 1)
    assert "3 workers that ran it ended, the last: job" in tally.first_error
    assert "is FAILED, exit code" in tally.first_error
    assert swept.figures(tmp_path / "k.db") == [1.0, 3.0, 4.0, 5.0]


@pytest.mark.usefixtures("slurm")
def test_workers_of_another_version_are_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nearfar.__version__", "9.9")
    with pytest.raises(InputError, match=r"a worker has nearfar .*, the sweep 9\.9; install"):
        sweep(swept.study(n="1..4"), tmp_path / "v.db", Told, options())
    assert swept.rows(tmp_path / "v.db") == {}


@pytest.mark.usefixtures("slurm")
def test_workers_that_cannot_start_end_the_sweep_with_what_their_log_says(tmp_path: Path) -> None:
    on = SweepOptions(on=f"{ON},python=/no/such/python", jobs=2)
    with pytest.raises(NearfarError, match=r"end before they compute anything.*/no/such/python"):
        sweep(swept.study(n="1..4"), tmp_path / "s.db", Told, on)
    assert [path.suffix for path in tmp_path.iterdir()] == [".db"]


POINTS = 40
SWEEP = f"""import sys
from nearfar.cli import main
from nearfar.sweeping import on_slurm
on_slurm._LOOKS_S, on_slurm._BEATS_S, on_slurm._PATIENCE_S = 0.2, 0.2, 2.0
sys.exit(main.main([
    "sweep", "model:optane-100", "--on", "{ON}", "--jobs", "2", "--store", "k.db",
    "--set", "nvdimm.media.read_latency=100ns..{99 + POINTS}ns:1ns",
    "--for", "measure chase --region 1MiB --op ntload --lines 65536"]))
"""
Sweep = subprocess.Popen[str]


def start() -> Sweep:
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", SWEEP], stdout=pipe, stderr=pipe, text=True)


def until(store: Path, points: int, running: Sweep) -> None:
    """Wait until so many points are committed."""
    while len(swept.committed(store)) < points:
        assert running.poll() is None, running.communicate()


def finish(running: Sweep, computed: int, found: int) -> None:
    out, err = running.communicate(timeout=100)
    assert running.returncode == 0, err
    assert f"{computed} computed now, {found} found" in out


def test_a_killed_slurm_worker_is_replaced_and_no_point_is_lost(
    slurm: LoopbackSlurm, tmp_path: Path
) -> None:
    store = tmp_path / "k.db"
    running = start()
    until(store, 2, running)
    jobs = slurm.ask("squeue", "--noheader", "--array", "--states=running", "--format", "%i")
    for pid in slurm.processes(jobs.split()[0]):
        os.kill(pid, signal.SIGKILL)
    finish(running, POINTS, 0)
    assert len(swept.committed(store)) == POINTS == len(swept.results(store))


def test_a_killed_sweep_on_slurm_goes_on_and_its_workers_end_by_themselves(
    slurm: LoopbackSlurm, tmp_path: Path
) -> None:
    store = tmp_path / "k.db"
    running = start()
    until(store, 3, running)
    running.kill()
    running.communicate()
    kept = len(swept.committed(store))
    finish(start(), POINTS - kept, kept)
    assert len(swept.committed(store)) == POINTS == len(swept.results(store))
    while slurm.ask("squeue", "--noheader"):
        pass
    assert not list(tmp_path.glob("nearfar-slurm-*"))


@dataclass(frozen=True)
class EndsController(Told):
    """At 3 ends the controller, and then its own worker."""

    def run(self, model: Model) -> MeasureResult:
        _, number, pid = self.text.split()
        if float(number) == 3:
            os.kill(int(pid), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        return swept.told_result(model, float(number))


@dataclass(frozen=True)
class OnlySays(Told):
    """The number."""

    def run(self, model: Model) -> MeasureResult:
        return swept.told_result(model, float(self.text.split()[1]))


def test_a_controller_that_goes_away_ends_the_sweep_with_what_was_finished(
    own: LoopbackSlurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_slurm, "_PATIENCE_S", 1.0)
    monkeypatch.setattr(slurm_jobs, "_CANCELS_S", 1.0)
    store = tmp_path / "c.db"
    study = swept.study(work=f"says {{n}} {own.controller()}", n="1..6")
    with pytest.raises(NearfarError, match=r"slurm: .*; finished points are kept, and the same"):
        sweep(study, store, EndsController, options(1))
    kept = swept.figures(store)
    assert 3.0 not in kept
    tally = sweep(study, store, OnlySays)
    assert (tally.computed, tally.found) == (6 - len(kept), len(kept))
    assert swept.figures(store) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


REFUSED = [
    ("slurm:partition=none", "partition=none cannot be used: "),
    ("slurm:partitoin=near", "did you mean partition"),
    ("slurm:near", "expected KEY=VALUE"),
    (f"{ON},time=long", "expected minutes"),
    (f"{ON},folder=none", "none: No such file"),
]


@pytest.mark.usefixtures("slurm")
@pytest.mark.parametrize(("on", "said"), REFUSED, ids=[one[0] for one in REFUSED])
def test_what_slurm_cannot_do_is_refused_before_anything_runs(
    refused: Refused, tmp_path: Path, on: str, said: str
) -> None:
    assert said in refused(*WORDS, "--store", "r.db", "--on", on)
    assert list(tmp_path.iterdir()) == []


def test_a_slurm_that_is_not_there_is_refused(
    refused: Refused, slurm: LoopbackSlurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "slurm.conf"
    config = slurm.config.read_text()
    gone.write_text(re.sub("SlurmctldPort=.*", "SlurmctldPort=9", config))
    monkeypatch.setenv("SLURM_CONF", str(gone))
    assert "slurm cannot be used: " in refused(*WORDS, "--on", "slurm:")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no command scontrol is here" in refused(*WORDS, "--on", "slurm:")
