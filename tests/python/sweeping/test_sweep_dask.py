"""A sweep on a real Dask scheduler with worker processes, all on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import swept
from nearfar.errors import InputError, NearfarError
from nearfar.sweeping.sweep import SweepOptions, sweep
from swept import Told

distributed = pytest.importorskip("distributed")

Run = Callable[..., tuple[int, str, str]]
CHASE = "measure chase --region {region} --lines 256 --op ntload,ntstore"
WORDS = ("sweep", "model:optane-100", "--set", "region=4KiB..1MiB:x4", "--set", "channels=1,2")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A scheduler and two workers, each a process of one thread."""
    folder = str(Path(__file__).resolve().parents[1])
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as found:
        with distributed.Client(found) as client:
            client.run(_find_tests, folder)
        yield found


def _find_tests(folder: str) -> None:
    import sys

    sys.path.insert(0, folder)


@pytest.fixture
def on(cluster: Any) -> SweepOptions:
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2)
    return SweepOptions(on=f"dask:{cluster.scheduler_address}")


def test_the_same_study_has_the_same_bytes_on_dask_and_on_processes(
    nearfar: Run, on: SweepOptions, tmp_path: Path
) -> None:
    for store, words in (("p.db", ("--jobs", "2")), ("d.db", ("--on", on.on))):
        found = nearfar(*WORDS, "--for", CHASE, "--store", str(tmp_path / store), *words)
        assert found[0] == 0, found
        assert "10 of 10 points, 10 computed now" in found[1]
    assert swept.rows(tmp_path / "p.db") == swept.rows(tmp_path / "d.db")
    assert swept.results(tmp_path / "p.db") == swept.results(tmp_path / "d.db")
    assert len(swept.results(tmp_path / "d.db")) == 10


def test_points_that_fail_on_dask_are_kept_as_failed(on: SweepOptions, tmp_path: Path) -> None:
    tally = sweep(swept.study(work="fails {n}", n="1..4"), tmp_path / "f.db", Told, on)
    assert (tally.computed, tally.failed, tally.first_error) == (4, 1, "two is no number of mine")


def test_a_point_that_ends_its_dask_workers_fails_and_the_others_do_not(
    on: SweepOptions, tmp_path: Path, cluster: Any
) -> None:
    with distributed.Client(cluster) as client:
        client.register_plugin(_FindTests(str(Path(__file__).resolve().parents[1])))
    tally = sweep(swept.study(work="kills {n}", n="1..5"), tmp_path / "k.db", Told, on)
    assert (tally.computed, tally.failed) == (5, 1)
    assert "workers that ran it ended" in tally.first_error
    assert swept.figures(tmp_path / "k.db") == [1.0, 3.0, 4.0, 5.0]


def test_a_killed_dask_worker_is_replaced_and_no_point_is_lost(
    on: SweepOptions, tmp_path: Path, cluster: Any
) -> None:
    with distributed.Client(cluster) as client:
        client.register_plugin(_FindTests(str(Path(__file__).resolve().parents[1])))
        pids = list(client.run(os.getpid).values())
    killed: list[int] = []

    def kill(ended: int, _: int) -> None:
        if ended > 5 and not killed:
            killed.append(pids[0])
            os.kill(pids[0], signal.SIGKILL)

    store = tmp_path / "k.db"
    tally = sweep(swept.study(n="1..60"), store, Told, on, kill)
    assert killed
    assert (tally.computed, tally.found, tally.failed) == (60, 0, 0)
    assert swept.figures(store) == [float(n) for n in range(1, 61)]
    assert len(swept.results(store)) == 60


def test_a_killed_sweep_on_dask_goes_on_where_it_was(on: SweepOptions, tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    command = [sys.executable, "-m", "nearfar", *WORDS, "--on", on.on, "--store", str(store)]
    command += ["--set", "nvdimm.media.read_latency=100ns..104ns:1ns", "--for", CHASE]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while len(swept.committed(store)) < 3:
        assert running.poll() is None, running.communicate()
    running.kill()
    running.communicate()
    kept = len(swept.committed(store))
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"{50 - kept} computed now, {kept} found" in done.stdout
    assert len(swept.committed(store)) == 50 == len(swept.results(store))


def test_a_scheduler_that_goes_away_ends_the_sweep_with_what_was_finished(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    file = tmp_path / "scheduler.json"
    options = ("--scheduler-file", str(file), "--no-dashboard")
    programs = {
        "scheduler": ("--host", "127.0.0.1", "--port", "0", *options),
        "worker": ("--nthreads", "1", "--no-nanny", *options),
    }
    daemons = {}
    try:
        for name, words in programs.items():
            dask = [sys.executable, "-m", "dask", name, *words]
            daemons[name] = subprocess.Popen(
                dask, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            while not file.exists():
                assert daemons["scheduler"].poll() is None

        def kill(ended: int, _: int) -> None:
            if ended == 5:
                daemons["scheduler"].kill()

        address = json.loads(file.read_text())["address"]
        store = tmp_path / "g.db"
        study = swept.study(n="1..200")
        with pytest.raises(NearfarError, match=r"the scheduler went away; finished points are"):
            sweep(study, store, Told, SweepOptions(on=f"dask:{address}"), kill)
    finally:
        for daemon in daemons.values():
            daemon.kill()
            daemon.wait()
    kept = len(swept.rows(store))
    assert 5 <= kept < 200
    tally = sweep(study, store, Told)
    assert (tally.computed, tally.found) == (200 - kept, kept)


class _FindTests(distributed.WorkerPlugin):  # type: ignore[misc]
    """New workers find the modules of the tests, too."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def setup(self, worker: Any) -> None:  # noqa: ARG002
        import sys

        sys.path.insert(0, self._folder)


def test_workers_of_another_version_are_refused_before_anything_runs(
    on: SweepOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nearfar.__version__", "9.9")
    with pytest.raises(InputError, match=r"has nearfar .*, expected 9\.9; install the same"):
        sweep(swept.study(n="1..4"), tmp_path / "v.db", Told, on)
    assert list(tmp_path.iterdir()) == []


def test_a_scheduler_that_is_not_there_is_refused(
    refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nearfar.sweeping.on_dask._ANSWERS_S", 0.5)
    store = ("--store", str(tmp_path / "n.db"))
    said = refused(*WORDS, "--for", CHASE, *store, "--on", "dask:tcp://127.0.0.1:9")
    assert said.startswith("--on: no scheduler answers at tcp://127.0.0.1:9")
    assert "expected an address" in refused(*WORDS, "--for", CHASE, *store, "--on", "dask:here")
    assert "--jobs" in refused(*WORDS, "--for", CHASE, *store, "--on", "dask:x", "--jobs", "2")
    assert list(tmp_path.iterdir()) == []
