"""Slurm's jobs: submitted through submitit, and looked after through squeue and scontrol.

submitit asks sacct what became of a job, which needs an accounting database; small clusters have
none. The controller itself remembers jobs for a while after their end (MinJobAge, 5 minutes).
"""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nearfar.errors import InputError, NearfarError, check_one_of
from nearfar.sweeping.extras import extra

_ANSWERS_S = 60.0
_CANCELS_S = 20.0  # scancel goes on asking a controller that is not there
_ENDED = (
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY"),
    *("PREEMPTED", "REVOKED", "TIMEOUT"),
)
# What may stand behind slurm:, as sbatch calls it; of these submitit knows the first.
_PASSED = ("partition", "account", "qos", "constraint", "mem", "time")
_OWN = ("folder", "python")
_LOG_BYTES = 4096


class SlurmError(NearfarError):
    """A command of Slurm failed; the message says how."""


def parse_options(text: str) -> dict[str, str]:
    """`partition=cpu,time=60`. Raises InputError."""
    found: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        key, separator, value = part.partition("=")
        if not separator or not value:
            raise InputError(f"--on: found '{part}' behind slurm:, expected KEY=VALUE")
        check_one_of("--on slurm:", key, (*_PASSED, *_OWN))
        found[key] = value
    if "time" in found and not found["time"].isdecimal():
        raise InputError(f"--on slurm:time: found '{found['time']}', expected minutes")
    return found


def command(*words: str) -> str:
    """What a command of Slurm prints. Raises SlurmError with its last line."""
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=_ANSWERS_S, check=False
        )
    except FileNotFoundError:
        raise SlurmError(f"no command {words[0]} is here") from None
    except subprocess.TimeoutExpired:
        raise SlurmError(f"{words[0]} gives no answer") from None
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip() or "no reason given").splitlines()
        raise SlurmError(f"{words[0]}: {lines[-1].removeprefix(f'{words[0]}: ')}")
    return done.stdout


class SlurmJobs:
    """The tasks of the arrays that one sweep submits."""

    def __init__(self, options: Mapping[str, str]) -> None:
        """Check that a controller answers, and knows the partition. Raises InputError."""
        self._submitit = extra("submitit", "--on slurm:", "nearfar[slurm]")
        self._options = dict(options)
        try:
            config = command("scontrol", "show", "config")
            if "partition" in options:
                command("scontrol", "show", "partition", options["partition"])
        except SlurmError as error:
            where = f":partition={options['partition']}" if "partition" in options else ""
            raise InputError(f"--on: slurm{where} cannot be used: {error}") from None
        limit = re.search(r"^MaxArraySize\s*=\s*(\d+)", config, re.MULTILINE)
        self._most = max(1, int(limit[1]) if limit else 1001)
        self._name = ""
        self._arrays: set[str] = set()

    def idle_processors(self) -> int:
        """Of the partition, or of all; 0 if sinfo does not say."""
        words = ["--partition", self._options["partition"]] if "partition" in self._options else []
        try:
            counts = command("sinfo", "--noheader", *words, "--format", "%C").split()
        except SlurmError:
            return 0
        # Each is allocated/idle/other/total.
        return sum(int(one.split("/")[1]) for one in counts)

    def submit(self, folder: Path, count: int, serve: Any, arguments: Sequence[object]) -> set[str]:
        """Have `serve(*arguments)` run so many times; the ids of the tasks.

        An array has at most MaxArraySize tasks, so that more take several. Raises SlurmError.
        """
        executor = self._submitit.SlurmExecutor(folder / "jobs", python=self._options.get("python"))
        self._name = folder.name
        passed: dict[str, Any] = {key: self._options.get(key) for key in _PASSED}
        if passed["time"] is not None:
            passed["time"] = int(passed["time"])
        executor.update_parameters(
            job_name=self._name,
            cpus_per_task=1,
            array_parallelism=count,
            wckey=None,
            # A job that starts anew would not know what it had taken.
            additional_parameters={"no-requeue": True},
            **passed,
        )
        found: set[str] = set()
        while count > 0:
            some = min(count, self._most)
            count -= some
            try:
                jobs = executor.map_array(serve, *([value] * some for value in arguments))
            except (OSError, subprocess.SubprocessError, RuntimeError) as error:
                raise SlurmError(f"sbatch: {_last_line(str(error))}") from None
            found |= {str(job.job_id) for job in jobs}
        self._arrays |= {name.partition("_")[0] for name in found}
        return found

    def living(self) -> set[str]:
        """The tasks that wait or run. Raises SlurmError."""
        lines = command(
            *("squeue", "--noheader", "--array", "--states=all", "--name", self._name),
            *("--format", "%i %T"),
        ).splitlines()
        states = (line.split() for line in lines)
        return {name for name, state in states if state not in _ENDED}

    def fate(self, name: str, folder: Path) -> str:
        """How a task ended, as the controller and its log tell."""
        try:
            found = command("scontrol", "--oneliner", "show", "job", name)
        except SlurmError:
            found = ""  # longer ago than the controller remembers
        state, status = (re.search(rf"\b{key}=(\S+)", found) for key in ("JobState", "ExitCode"))
        said = f"job {name} is {state[1]}" if state else f"job {name} is gone"
        if status and status[1] != "0:0":
            said += f", exit code {status[1]}"
        log = _last_line(_tail(folder / "jobs" / f"{name}_0_log.err"))
        return f"{said}: {log}" if log else said

    def cancel(self) -> None:
        """End all of them; without a controller they end by themselves, when the folder is gone."""
        if self._arrays:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(
                    ["scancel", *sorted(self._arrays)], capture_output=True, timeout=_CANCELS_S
                )


def _tail(path: Path) -> str:
    try:
        return path.read_bytes()[-_LOG_BYTES:].decode(errors="replace")
    except OSError:
        return ""


def _last_line(text: str) -> str:
    """The last line of a program; of srun's own, which come after it, the last that is an error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    own = [line for line in lines if line.startswith(("srun:", "slurmstepd:"))]
    telling = [line for line in lines if line not in own] or [
        line for line in own if " error: " in line
    ]
    return (telling or lines or [""])[-1]
