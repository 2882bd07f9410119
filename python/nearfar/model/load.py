"""Finding models: presets by name, files by path, and what a target string names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources.abc import Traversable
from pathlib import Path

from nearfar import resources
from nearfar.errors import InputError, suggestion
from nearfar.model.file import Given, ModelFile, read_model_file
from nearfar.model.model import Model

_SUFFIX = ".toml"
_PARTS = "parts"
_CPU = "cpu."
_PROCESSOR = "processor="
HOST_IS_NO_MODEL = "this machine can be measured and probed; what is asked here needs a model"


def presets() -> list[str]:
    """The names of the models that come with the package, sorted."""
    names = (entry.name for entry in resources.folder("models").iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))


def processors() -> list[str]:
    """The names of the processors that models can have, sorted."""
    names = (entry.name for entry in resources.folder("models").joinpath(_PARTS).iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))


def describe_processor(name: str) -> str:
    """One line about a processor."""
    return read_model_file(_processor(name, "")).description


def load(name_or_path: str | Path) -> Model:
    """The model of a preset (`"optane-100"`) or of a file (`"./my.toml"`, a Path).

    Text is a path if it has a '/' or ends in '.toml'. Raises InputError: no such preset or
    file, or the file and line of what is wrong in it.
    """
    source = _find(name_or_path)
    given, alternatives, description = _with_base(source, [])
    return Model(str(name_or_path), description, given, alternatives)


def load_target(text: str) -> Model:
    """The model that a target names: `model:NAME_OR_PATH[,KEY=VALUE]...`.

    Raises InputError; also for `host`, which is no model.
    """
    kind, separator, rest = text.partition(":")
    if text == "host" or (kind == "host" and separator):
        raise InputError(f"target 'host': {HOST_IS_NO_MODEL}; use model:NAME")
    if kind != "model" or not separator:
        raise InputError(
            f"found target '{text}', expected model:NAME or model:FILE.toml{_meant(text)}"
        )
    name, *settings = rest.split(",")
    if not name:
        raise InputError(
            f"found target '{text}', expected a model after 'model:'; "
            "`nearfar model list` prints the names"
        )
    model = load(name)
    for setting in settings:
        if setting.startswith(_PROCESSOR):
            model = _behind(model, setting.removeprefix(_PROCESSOR))
    return model.override(*(one for one in settings if not one.startswith(_PROCESSOR)))


def _behind(model: Model, processor: str) -> Model:
    """The model with another processor."""
    name = f"{model.name},{_PROCESSOR}{processor}"
    given = _with_processor(model.given, _processor(processor, f"{name}: "))
    return Model(name, model.description, given, model.alternatives)


def _meant(text: str) -> str:
    whole = suggestion(text, [f"model:{preset}" for preset in presets()])
    bare = text.partition(",")[0]
    is_model = bare in presets() or _is_path(bare)
    return f"; did you mean model:{text}?" if is_model else whole


def _is_path(text: str) -> bool:
    return "/" in text or text.endswith(_SUFFIX)


def _find(name_or_path: str | Path) -> Path | Traversable:
    if isinstance(name_or_path, Path) or _is_path(name_or_path):
        return Path(name_or_path)
    return _preset(name_or_path, "")


def _preset(name: str, place: str) -> Traversable:
    if name not in presets():
        raise InputError(
            f"{place}found no model '{name}', expected one of {', '.join(presets())} "
            f"or a path to a file{suggestion(name, presets())}"
        )
    return resources.folder("models").joinpath(name + _SUFFIX)


def _with_base(
    path: Path | Traversable, below: list[str]
) -> tuple[dict[str, Given], dict[str, str], str]:
    """The values and alternatives of a file on top of those of its bases."""
    file = read_model_file(path)
    if not file.base:
        given = _processor_of(path, file, {})
        return {**given, **_above(given, file.given)}, dict(file.alternatives), file.description
    chain = [*below, _identity(path)]
    base = _base_of(path, file)
    if _identity(base) in chain:
        found = f"found '{file.base}', which leads back to this file"
        raise InputError(f"{file.base_place}: base: {found}")
    given, alternatives, _ = _with_base(base, chain)
    given = _processor_of(path, file, given)
    return (
        {**given, **_above(given, file.given)},
        {**alternatives, **file.alternatives},
        file.description,
    )


def _above(below: Mapping[str, Given], given: Mapping[str, Given]) -> dict[str, Given]:
    """The values of a file that is laid on others."""
    if not below:
        return dict(given)
    layer = 1 + max(entry.layer for entry in below.values())
    return {name: replace(entry, layer=layer) for name, entry in given.items()}


def _processor_of(
    path: Path | Traversable, file: ModelFile, below: dict[str, Given]
) -> dict[str, Given]:
    """The values below a file with its processor's in the place of theirs."""
    if not file.processor:
        return below
    place = f"{file.processor_place}: processor: "
    if not _is_path(file.processor):
        return _with_processor(below, _processor(file.processor, place))
    part = Path(str(path)).parent / file.processor
    if not part.exists():
        raise InputError(f"{place}found '{file.processor}', expected an existing file")
    return _with_processor(below, part)


def _with_processor(below: Mapping[str, Given], part: Path | Traversable) -> dict[str, Given]:
    given, _, _ = _with_base(part, [])
    cpu = {name: entry for name, entry in given.items() if name.startswith(_CPU)}
    rest = {name: entry for name, entry in below.items() if not name.startswith(_CPU)}
    return {**rest, **_above(rest, cpu)}


def _processor(name: str, place: str) -> Path | Traversable:
    if _is_path(name):
        return Path(name)
    if name not in processors():
        raise InputError(
            f"{place}found no processor '{name}', expected one of {', '.join(processors())} "
            f"or a path to a file{suggestion(name, processors())}"
        )
    return resources.folder("models").joinpath(_PARTS, name + _SUFFIX)


def _base_of(path: Path | Traversable, file: ModelFile) -> Path | Traversable:
    if not _is_path(file.base):
        return _preset(file.base, f"{file.base_place}: base: ")
    base = Path(str(path)).parent / file.base
    if not base.exists():
        raise InputError(
            f"{file.base_place}: base: found '{file.base}', expected a preset or an existing file"
        )
    return base


def _identity(path: Path | Traversable) -> str:
    """The same for one file however it is named."""
    return str(Path(str(path)).resolve())
