"""nearfar measures, models and manages hybrid memory.

The commands as functions:

    import nearfar
    from nearfar import Chase

    model = nearfar.load_model("optane-100").override(channels=6)
    result = nearfar.measure(model, Chase(region="4KiB,1MiB", op="ntload"))
    result.points[0].ns_per_line

Results are plain dataclasses: `save_result` and `load_result` are their files, `page` their
pictures. Every error that input can cause is an `InputError` of one line; Ctrl-C is `Interrupted`,
with what was finished.

Names are looked up when first used, so that `import nearfar` costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what `typing` has, whose import takes milliseconds

if TYPE_CHECKING:
    from typing import Any

    from nearfar.errors import InputError, Interrupted, NearfarError
    from nearfar.measuring import Chase, Contention, Effort, Host, Overwrite, Stream
    from nearfar.measuring.run import measure
    from nearfar.model import Model
    from nearfar.model.load import load as load_model
    from nearfar.predicting.predict import PredictOptions, predict
    from nearfar.probing.probe import probe
    from nearfar.probing.saved import compare, infer
    from nearfar.report.documents import page
    from nearfar.results import (
        ComparisonResult,
        CrashResult,
        Finding,
        FlatReplayResult,
        MeasureResult,
        Observation,
        Point,
        PredictionResult,
        ProbeResult,
        ReplayResult,
        RunResult,
        TierReplayResult,
        TierRunResult,
        ValidationResult,
    )
    from nearfar.results import load as load_result
    from nearfar.results import save as save_result
    from nearfar.simulate.crashes.explore import CrashOptions, crash
    from nearfar.simulate.crashes.invariant import CrashImage
    from nearfar.simulate.crashes.program import CrashProgram
    from nearfar.simulate.flat_replay import FlatOptions, flat_replay
    from nearfar.simulate.machine import Machine
    from nearfar.simulate.programs.options import RunOptions
    from nearfar.simulate.programs.replayed import replay_program
    from nearfar.simulate.programs.run import run
    from nearfar.simulate.replay import ReplayOptions, replay
    from nearfar.simulate.tier_replay import tier_replay
    from nearfar.simulate.traces.convert import ConvertOptions, trace_info
    from nearfar.simulate.traces.convert import convert as convert_trace
    from nearfar.simulate.validation.validate import validate

    __version__: str

__all__ = [
    "Chase",
    "ComparisonResult",
    "Contention",
    "ConvertOptions",
    "CrashImage",
    "CrashOptions",
    "CrashProgram",
    "CrashResult",
    "Effort",
    "Finding",
    "FlatOptions",
    "FlatReplayResult",
    "Host",
    "InputError",
    "Interrupted",
    "Machine",
    "MeasureResult",
    "Model",
    "NearfarError",
    "Observation",
    "Overwrite",
    "Point",
    "PredictOptions",
    "PredictionResult",
    "ProbeResult",
    "ReplayOptions",
    "ReplayResult",
    "RunOptions",
    "RunResult",
    "Stream",
    "TierReplayResult",
    "TierRunResult",
    "ValidationResult",
    "__version__",
    "compare",
    "convert_trace",
    "crash",
    "flat_replay",
    "infer",
    "load_model",
    "load_result",
    "measure",
    "page",
    "predict",
    "probe",
    "replay",
    "replay_program",
    "run",
    "save_result",
    "tier_replay",
    "trace_info",
    "validate",
]

# Public name to the module that has it, and its name there.
_HOMES = {
    "Chase": ("nearfar.measuring", "Chase"),
    "ComparisonResult": ("nearfar.results", "ComparisonResult"),
    "Contention": ("nearfar.measuring", "Contention"),
    "ConvertOptions": ("nearfar.simulate.traces.convert", "ConvertOptions"),
    "CrashImage": ("nearfar.simulate.crashes.invariant", "CrashImage"),
    "CrashOptions": ("nearfar.simulate.crashes.explore", "CrashOptions"),
    "CrashProgram": ("nearfar.simulate.crashes.program", "CrashProgram"),
    "CrashResult": ("nearfar.results", "CrashResult"),
    "Effort": ("nearfar.measuring", "Effort"),
    "Finding": ("nearfar.results", "Finding"),
    "Host": ("nearfar.measuring", "Host"),
    "InputError": ("nearfar.errors", "InputError"),
    "Interrupted": ("nearfar.errors", "Interrupted"),
    "Machine": ("nearfar.simulate.machine", "Machine"),
    "MeasureResult": ("nearfar.results", "MeasureResult"),
    "Model": ("nearfar.model", "Model"),
    "NearfarError": ("nearfar.errors", "NearfarError"),
    "Observation": ("nearfar.results", "Observation"),
    "Overwrite": ("nearfar.measuring", "Overwrite"),
    "Point": ("nearfar.results", "Point"),
    "PredictOptions": ("nearfar.predicting.predict", "PredictOptions"),
    "PredictionResult": ("nearfar.results", "PredictionResult"),
    "ProbeResult": ("nearfar.results", "ProbeResult"),
    "ReplayOptions": ("nearfar.simulate.replay", "ReplayOptions"),
    "ReplayResult": ("nearfar.results", "ReplayResult"),
    "RunOptions": ("nearfar.simulate.programs.options", "RunOptions"),
    "RunResult": ("nearfar.results", "RunResult"),
    "Stream": ("nearfar.measuring", "Stream"),
    "FlatReplayResult": ("nearfar.results", "FlatReplayResult"),
    "TierReplayResult": ("nearfar.results", "TierReplayResult"),
    "TierRunResult": ("nearfar.results", "TierRunResult"),
    "ValidationResult": ("nearfar.results", "ValidationResult"),
    "compare": ("nearfar.probing.saved", "compare"),
    "convert_trace": ("nearfar.simulate.traces.convert", "convert"),
    "crash": ("nearfar.simulate.crashes.explore", "crash"),
    "infer": ("nearfar.probing.saved", "infer"),
    "load_model": ("nearfar.model.load", "load"),
    "load_result": ("nearfar.results", "load"),
    "measure": ("nearfar.measuring.run", "measure"),
    "page": ("nearfar.report.documents", "page"),
    "predict": ("nearfar.predicting.predict", "predict"),
    "probe": ("nearfar.probing.probe", "probe"),
    "replay": ("nearfar.simulate.replay", "replay"),
    "replay_program": ("nearfar.simulate.programs.replayed", "replay_program"),
    "run": ("nearfar.simulate.programs.run", "run"),
    "save_result": ("nearfar.results", "save"),
    "FlatOptions": ("nearfar.simulate.flat_replay", "FlatOptions"),
    "flat_replay": ("nearfar.simulate.flat_replay", "flat_replay"),
    "tier_replay": ("nearfar.simulate.tier_replay", "tier_replay"),
    "trace_info": ("nearfar.simulate.traces.convert", "trace_info"),
    "validate": ("nearfar.simulate.validation.validate", "validate"),
}


def __getattr__(name: str) -> Any:
    import importlib

    if name == "__version__":
        value: Any = importlib.import_module("nearfar.version").VERSION
    elif name in _HOMES:
        module, attribute = _HOMES[name]
        value = getattr(importlib.import_module(module), attribute)
    else:
        raise AttributeError(f"module 'nearfar' has no attribute {name!r}")
    globals()[name] = value  # looked up once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
