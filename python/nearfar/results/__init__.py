"""The versioned documents that tools exchange, and reading and writing their files."""

from nearfar.results.comparison import ComparisonResult
from nearfar.results.crash import CrashResult, Explored, Violation
from nearfar.results.files import (
    Document,
    check_writable,
    load,
    parse,
    replacing,
    save,
    to_json,
    write_text,
)
from nearfar.results.findings import Finding, Histogram, Observation, ProbeResult
from nearfar.results.fit import FitFold, FitResult, FittedParameter, FittedSeries, KeptParameter
from nearfar.results.flat_replay import FlatReplayResult
from nearfar.results.prediction import PredictedProgram, PredictionAccuracy, PredictionResult
from nearfar.results.replay import ReplayResult
from nearfar.results.run import RunProcess, RunResult
from nearfar.results.schema import Environment, MeasureResult, Point, Precondition, Target
from nearfar.results.sweep import Sensitivity, SweepPoint, SweepResult
from nearfar.results.tier_replay import TierReplayResult
from nearfar.results.tier_run import TierRunResult, TierSamples
from nearfar.results.validation import (
    ComparedPoint,
    ComparedSeries,
    CurveFeature,
    Mark,
    ModelCard,
    Ordering,
    Parameter,
    ValidationResult,
)

__all__ = [
    "ComparedPoint",
    "ComparedSeries",
    "ComparisonResult",
    "CrashResult",
    "CurveFeature",
    "Document",
    "Environment",
    "Explored",
    "Finding",
    "FitFold",
    "FitResult",
    "FittedParameter",
    "FittedSeries",
    "FlatReplayResult",
    "Histogram",
    "KeptParameter",
    "Mark",
    "MeasureResult",
    "ModelCard",
    "Observation",
    "Ordering",
    "Parameter",
    "Point",
    "Precondition",
    "PredictedProgram",
    "PredictionAccuracy",
    "PredictionResult",
    "ProbeResult",
    "ReplayResult",
    "RunProcess",
    "RunResult",
    "Sensitivity",
    "SweepPoint",
    "SweepResult",
    "Target",
    "TierReplayResult",
    "TierRunResult",
    "TierSamples",
    "ValidationResult",
    "Violation",
    "check_writable",
    "load",
    "parse",
    "replacing",
    "save",
    "to_json",
    "write_text",
]
