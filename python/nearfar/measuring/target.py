"""What a pattern runs on: today a model; this machine's own memory joins with the profiler."""

from __future__ import annotations

from nearfar.model import Model, load_target
from nearfar.results import Environment, Target


def resolve(target: str | Model) -> Model:
    """The model behind a target: "model:NAME[,KEY=VALUE]...", or a model as it is."""
    return load_target(target) if isinstance(target, str) else target


def capacity(model: Model) -> int:
    """Bytes of memory behind the controller, over all channels."""
    return int(model["channels"]) * int(model["capacity"])


def describe(model: Model) -> Target:
    """The target as a result names it."""
    return Target(
        kind="model", name=model.name.partition(",")[0], spec=spec(model), mode="simulated"
    )


def spec(model: Model) -> str:
    """The target as a command line would name it."""
    return f"model:{model.name}"


def environment(model: Model, seed: int) -> Environment:
    """What bears on a simulated result; the machine that computes it does not."""
    from nearfar import __version__

    return Environment(version=__version__, seed=seed, model_hash=f"sha256:{model.hash()}")
