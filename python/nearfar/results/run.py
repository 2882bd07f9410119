"""What a real program did on a simulated machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nearfar.results.decode import encode
from nearfar.results.machine import Machine
from nearfar.results.schema import Environment, Target

WARM_LONGER = 8  # times: the warm-up of a window that is checked


@dataclass(frozen=True)
class SampledWindow:
    """Instructions that were measured, and the period of instructions that they stand for."""

    period_at: int  # in instructions from the beginning of the program, as `at`
    period: int
    at: int
    instructions: int
    busy_ps: int
    checked_instructions: int = 0  # of the machine that warmed up longer; 0: none did
    checked_busy_ps: int = 0


@dataclass(frozen=True)
class Sampled:
    """What a systematic sample says of a whole program.

    `cpi`, cycles an instruction, lies in `cpi_interval` with 95 % confidence. `busy_ns` is the
    time that all `instructions` take their core at that pace, `busy_interval_ns` its interval.
    Without two windows there is no estimate.

    `checked` windows were measured on a second machine, too, which had warmed up longer. What that
    changed is the difference of `cpi` from `windows_cpi`, which is what the windows alone say, and
    lies within `check_error` of that with 95 % confidence.
    """

    instructions: int  # of the whole program
    windows: Sequence[SampledWindow]
    cpi: float | None = None
    cpi_interval: Sequence[float] | None = None
    busy_ns: float | None = None
    busy_interval_ns: Sequence[float] | None = None
    windows_cpi: float | None = None
    checked: int = 0
    check_error: float | None = None


@dataclass(frozen=True)
class RunProcess:
    """One program in one process, from its execution to its end or the next one's.

    `program` is how it was called.
    `machine` is what its simulated machine counted; there is none with the core "count", nor of
    a process that was killed. Of a sample, it counted the windows and what warmed up for them.
    """

    program: str
    process: int  # counted from 0, in order of their beginnings; stays through executions
    threads: int
    start_ns: float  # simulated, from the beginning of the run
    end_ns: float
    counts: Mapping[str, int]
    machine: Machine | None = None
    finished: bool = True  # if not, the counts are from shortly before its end
    sampled: Sampled | None = None


@dataclass(frozen=True)
class GuestShare:
    """Of what a whole machine executed."""

    instructions: int
    busy_ns: float  # that the simulated core was busy with them


@dataclass(frozen=True)
class RunGuest:
    """A whole machine that was run, beside what its one process says.

    `clock` is what its clocks and timers followed: "host" or "instructions". `shares` are of the
    "kernel", by code in the upper half of addresses, of "user" programs below, and of "firmware",
    which is all that came before the first of the kernel's. `halts` took none of the time. `unseen`
    are accesses that were not simulated: to a "device"; to what is neither that nor memory ("rom");
    of instructions of which the decoder tells none, as those of descriptor tables ("hidden"); and
    parts of accesses beyond the end of a page ("cut").
    """

    memory_bytes: int
    clock: str
    halts: int
    shares: Mapping[str, GuestShare]
    unseen: Mapping[str, int]


@dataclass(frozen=True)
class RunResult:
    """A program and all that it started.

    `counts` sums over processes, in what of them was measured; each runs on a machine of its own.
    `elapsed_ns` is simulated, to the last one's end. `notes` say what was not seen, or not as it
    would be on hardware.
    """

    SCHEMA: ClassVar[str] = "nearfar/run/1"

    target: Target
    environment: Environment
    program: Mapping[str, Any]
    core: str
    exit_code: int
    elapsed_ns: float
    counts: Mapping[str, int]
    processes: Sequence[RunProcess]
    notes: Sequence[str] = ()
    qemu: str = ""
    interrupted: bool = False
    window: Mapping[str, int] | None = None  # of each program: skip, warm, run; 0: all that is left
    sample: Mapping[str, int] | None = None  # of each program: every, warm, run; every 0: auto
    sampled: Sampled | None = None  # all programs together, without their windows
    guest: RunGuest | None = None  # of a whole machine

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, as `json.dumps` takes them."""
        return {"schema": self.SCHEMA, **encode(self)}
