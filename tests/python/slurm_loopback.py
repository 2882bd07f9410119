"""A Slurm of one controller and one node on loopback, with a munge daemon and a key of its own."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

COMMANDS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel")
PATH = f"{os.environ['PATH']}:/usr/sbin"
MISSING = [one for one in COMMANDS if shutil.which(one, path=PATH) is None]
NEEDED = pytest.mark.skipif(bool(MISSING), reason=f"no {', '.join(MISSING)}: slurm-wlm, munge")
PARTITION = "near"
ARRAY_SIZE = 3  # so that four workers take two arrays


class LoopbackSlurm:
    """Daemons that are children of this process, all in one folder."""

    def __init__(self, folder: Path) -> None:
        # Every user must be able to reach munge's socket.
        folder.chmod(0o711)
        self.folder = folder
        self.config = folder / "slurm.conf"
        self.environment = {**os.environ, "SLURM_CONF": str(self.config), "PATH": PATH}
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Start all three, and wait until the node takes jobs."""
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        self._start_munge()
        self._write_config()
        self._start("slurmctld", "-D", "-f", str(self.config))
        self._start("slurmd", "-D", "-N", "one", "-f", str(self.config))
        while self.ask("sinfo", "--noheader", "--format", "%T") != "idle":
            self._check()

    def controller(self) -> int:
        """Its process."""
        return self._daemons["slurmctld"].pid

    def stop(self) -> None:
        """End every daemon that was started, and what watches over jobs for the node's."""
        if self._daemons["slurmctld"].poll() is None:
            self.ask("scancel", "--user", getpass.getuser())
        for daemon in self._daemons.values():
            daemon.kill()
        for daemon in self._daemons.values():
            daemon.wait(timeout=60)
        for pid in self._working_here():
            os.kill(pid, signal.SIGKILL)

    def ask(self, *words: str) -> str:
        """What one of Slurm's commands prints; nothing where it fails."""
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    def processes(self, job: str) -> list[int]:
        """Of a running job, all but the shell of its script."""
        lines = self.ask("scontrol", "listpids", job).splitlines()[1:]
        return [int(line.split()[0]) for line in lines if line.split()[2] not in ("batch", "-")]

    def _start_munge(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        paths = {
            "--key-file": key,
            "--socket": self._socket(),
            **{f"--{name}-file": self.folder / f"munge.{name}" for name in ("pid", "log", "seed")},
        }
        options = [f"{option}={path}" for option, path in paths.items()]
        self._start("munged", "--foreground", "--force", *options)
        while not self._socket().exists():
            self._check()

    def _socket(self) -> Path:
        return self.folder / "munge.socket"

    def _working_here(self) -> Iterator[int]:
        """Processes in this folder, where nothing but the daemons is started."""
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (process / "cwd").readlink() == self.folder:
                    yield int(process.name)

    def _start(self, name: str, *options: str) -> None:
        program = shutil.which(name, path=PATH)
        assert program is not None
        with (self.folder / f"{name}.out").open("ab") as log:
            self._daemons[name] = subprocess.Popen(
                [program, *options], stdout=log, stderr=log, env=self.environment, cwd=self.folder
            )

    def _check(self) -> None:
        for name, daemon in self._daemons.items():
            text = (self.folder / f"{name}.out").read_text()[-2000:]
            assert daemon.poll() is None, f"{name} has ended: {text}"

    def _write_config(self) -> None:
        host = socket.gethostname().partition(".")[0]
        user = getpass.getuser()
        controller, node = _free_ports()
        self.config.write_text(
            f"""ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={self._socket()}
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.pid
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,sched_min_interval=0
ReturnToService=2
MaxArraySize={ARRAY_SIZE}
KillWait=1
MessageTimeout=2
SlurmdParameters=config_overrides
NodeName=one NodeHostname={host} NodeAddr=127.0.0.1 CPUs=4
PartitionName={PARTITION} Nodes=one Default=YES State=UP
"""
        )


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        for each in (one, other):
            each.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]
