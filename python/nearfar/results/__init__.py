"""The versioned documents that tools exchange, and reading and writing their files."""

from nearfar.results.crashed import Crashed, Explored, Violation
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
from nearfar.results.ran import Ran, RanProcess
from nearfar.results.replayed import Replayed
from nearfar.results.schema import Environment, Point, Precondition, Result, Target
from nearfar.results.validation import (
    ComparedPoint,
    ComparedSeries,
    CurveFeature,
    Mark,
    ModelCard,
    Ordering,
    Parameter,
    Validation,
)

__all__ = [
    "ComparedPoint",
    "ComparedSeries",
    "Crashed",
    "CurveFeature",
    "Document",
    "Environment",
    "Explored",
    "Finding",
    "Histogram",
    "Mark",
    "ModelCard",
    "Observation",
    "Ordering",
    "Parameter",
    "Point",
    "Precondition",
    "ProbeResult",
    "Ran",
    "RanProcess",
    "Replayed",
    "Result",
    "Target",
    "Validation",
    "Violation",
    "check_writable",
    "load",
    "parse",
    "replacing",
    "save",
    "to_json",
    "write_text",
]
