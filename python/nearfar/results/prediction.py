"""How well a model predicts the time of programs on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nearfar.results.decode import encode
from nearfar.results.schema import Environment, Target


@dataclass(frozen=True)
class PredictedProgram:
    """One program: `steps` of its `all_steps`, behind `warm` that are not measured.

    `native_ns` has the time on the processor of every native run, `measured_ns` is their median
    and `spread` the distance between their quartiles over the median. `ratio` is predicted over
    measured time; there is none where `problem` says why the two cannot be compared. `stack` is
    what the model's time went to, as shares. `native_instructions` is missing where the machine
    has no counters. `huge_bytes` of `bytes` lay on huge pages natively.
    """

    name: str
    about: str
    tuned: bool
    source_hash: str
    warm: int
    steps: int
    all_steps: int
    native_ns: Sequence[float] = ()
    output: str = ""
    measured_ns: float | None = None
    spread: float | None = None
    predicted_ns: float | None = None
    ratio: float | None = None
    native_instructions: int | None = None
    instructions: int | None = None
    page_faults: int | None = None
    bytes: int | None = None
    huge_bytes: int | None = None
    stack: Mapping[str, float] | None = None
    notes: Sequence[str] = ()
    problem: str | None = None


@dataclass(frozen=True)
class PredictionAccuracy:
    """Over `programs` programs: `error` is exp(mean |ln(predicted / measured)|), 1 is none;
    `worst` is the largest factor between the two, of `worst_program`.
    """

    programs: int
    error: float
    worst: float
    worst_program: str


@dataclass(frozen=True)
class PredictionResult:
    """Programs natively and on a model.

    One of `sample` parts of each program's steps was measured; 1 is a full run. `machine_spread`
    is exp(mean |ln(run / median)|) over all native runs: what predicting by another run of this
    machine would score. `untuned` is over the programs that were never used for tuning.
    """

    SCHEMA: ClassVar[str] = "nearfar/prediction/1"

    target: Target
    environment: Environment
    folder: str
    sample: int
    runs: int
    pages: str
    compiler: str
    tunables: str
    programs: Sequence[PredictedProgram]
    all: PredictionAccuracy | None = None
    untuned: PredictionAccuracy | None = None
    machine_spread: float | None = None
    qemu: str = ""
    interrupted: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, as `json.dumps` takes them."""
        return {"schema": self.SCHEMA, **encode(self)}
