"""`nearfar model`: list, show, check, export and draw models, and print the schema."""

from __future__ import annotations

import argparse
from typing import Any

from nearfar.cli.options import (
    STANDARD_OUTPUT,
    add_made,
    add_output,
    wants_text,
    write_json,
    write_output,
)
from nearfar.cli.parser import Parser
from nearfar.cli.streams import complain, emit
from nearfar.errors import InputError
from nearfar.model import Model, describe_processor, load, load_target, presets, processors
from nearfar.model.document import schema_data, schema_markdown, schema_text
from nearfar.model.file import unknown_key
from nearfar.model.random.cpu import random_cpu_model
from nearfar.model.random.dimm import random_model
from nearfar.model.random.near import random_near_model
from nearfar.model.schema import KEYS, canonical
from nearfar.model.units import BYTES, format_quantity

_PROCESSORS = "Processors, for `processor` in a model file or model:NAME,processor=NAME:"
MODEL_HELP = "a preset, a file.toml, or model:NAME,KEY=VALUE"


def add_arguments(parser: Parser) -> None:
    """Declare the verbs of `nearfar model`."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, title="verbs")
    add_output(_verb(verbs, "list", "name the models that come with nearfar", _list))

    show = _verb(verbs, "show", "print every value with its unit and source", _show)
    show.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    add_output(show)

    check = _verb(verbs, "check", "check model files; the first error of each is printed", _check)
    check.add_argument("models", metavar="MODEL", nargs="+", help=MODEL_HELP)
    add_output(check)

    schema = _verb(verbs, "schema", "print every key: type, range, default, meaning", _schema)
    schema.add_argument("prefix", metavar="KEY", nargs="?", default="", help="only keys below KEY")
    schema.add_argument("--markdown", action="store_true", help="print the page of the docs")
    add_output(schema)

    export = _verb(verbs, "export", "write the resolved form that the C++ core reads", _export)
    export.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    add_made(export, "default: - (stdout)", default=STANDARD_OUTPUT)

    random = _verb(verbs, "random", "write a random plausible DIMM as a model file", _random)
    random.add_argument(
        "--seed", metavar="N", type=_seed, required=True, help="the same seed, the same DIMM"
    )
    other = random.add_mutually_exclusive_group()
    other.add_argument(
        "--near", action="store_true", help="Optane DIMMs behind a random near memory instead"
    )
    other.add_argument(
        "--cpu", action="store_true", help="Optane DIMMs behind a random processor instead"
    )
    add_made(random, "default: - (stdout)", default=STANDARD_OUTPUT)


def run(args: argparse.Namespace) -> int:
    """Run the chosen verb."""
    status: int = args.do(args)
    return status


def find_model(text: str) -> Model:
    """A model by name, by path, with or without `model:` and overrides."""
    if text.startswith("model:"):
        return load_target(text)
    return load_target(f"model:{text}") if "," in text or "=" in text else load(text)


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"found '{text}', expected a whole number from 0")
    return int(text)


def _verb(verbs: Any, name: str, about: str, do: Any) -> Parser:
    parser: Parser = verbs.add_parser(name, help=about, description=about)
    parser.set_defaults(do=do)
    return parser


def _list(args: argparse.Namespace) -> int:
    models = {name: load(name).description for name in presets()}
    parts = {name: describe_processor(name) for name in processors()}
    if wants_text(args):
        width = max(map(len, [*models, *parts]))
        rows = [f"{name:{width}}  {about}\n" for name, about in models.items()]
        rows.append(f"\n{_PROCESSORS}\n")
        rows += [f"{name:{width}}  {about}\n" for name, about in parts.items()]
        emit("".join(rows))
    write_json(
        args,
        {
            "schema": "nearfar/models/1",
            "models": _named(models),
            "processors": _named(parts),
        },
    )
    return 0


def _named(described: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "description": about} for name, about in described.items()]


def _show(args: argparse.Namespace) -> int:
    model = find_model(args.model)
    if wants_text(args):
        emit(_shown(model))
    write_json(args, _data(model))
    return 0


def _shown(model: Model) -> str:
    rows = [(name, entry.text, entry.source) for name, entry in model.values.items()]
    name_width = max(len(name) for name, _, _ in rows)
    text_width = max(len(text) for _, text, _ in rows)
    lines = [f"{model.name}: {model.description}", _summary(model), ""]
    for name, text, source in rows:
        lines.append(f"{name:{name_width}}  {text:{text_width}}  {source}".rstrip())
        if name in model.alternatives:
            lines.append(f"{'':{name_width}}  alternatives: {model.alternatives[name]}")
    return "\n".join(lines) + "\n"


def _summary(model: Model) -> str:
    capacity = model["capacity"]
    assert isinstance(capacity, int)
    channels = "1 channel" if model["channels"] == 1 else f"{model['channels']} channels"
    size = format_quantity(capacity, BYTES)
    return f"{model['machine']} machine, {channels} of {size}, sha256 {model.hash()[:12]}"


def _data(model: Model) -> dict[str, Any]:
    values = [
        {
            "key": name,
            "value": entry.value,
            "unit": entry.key.unit,
            "text": entry.text,
            "source": entry.source,
            "alternatives": model.alternatives.get(name, ""),
        }
        for name, entry in model.values.items()
    ]
    return {
        "schema": "nearfar/model/1",
        "name": model.name,
        "description": model.description,
        "hash": f"sha256:{model.hash()}",
        "values": values,
    }


def _check(args: argparse.Namespace) -> int:
    results = []
    for text in args.models:
        try:
            model = find_model(text)
        except InputError as error:
            results.append({"model": text, "ok": False, "message": str(error)})
        else:
            results.append({"model": text, "ok": True, "message": _summary(model)})
    write_json(args, {"schema": "nearfar/model-check/1", "models": results})
    failed = [str(result["message"]) for result in results if not result["ok"]]
    if wants_text(args):
        emit("".join(f"{r['model']}: ok: {r['message']}\n" for r in results if r["ok"]))
    if not failed:
        return 0
    # One line each; the last is raised, so that it looks like any other error.
    for message in failed[:-1]:
        complain(message)
    raise InputError(failed[-1])


def _schema(args: argparse.Namespace) -> int:
    prefix = canonical(args.prefix.rstrip("."))
    if prefix and not any(name == prefix or name.startswith(f"{prefix}.") for name in KEYS):
        raise InputError(unknown_key(args.prefix))
    if args.markdown and prefix:
        raise InputError("model schema: found KEY with --markdown, which prints every key")
    if args.markdown:
        emit(schema_markdown())
    elif wants_text(args):
        emit(schema_text(prefix))
    write_json(args, schema_data(prefix))
    return 0


def _export(args: argparse.Namespace) -> int:
    from nearfar import __version__

    write_output(args.output, find_model(args.model).export_file(__version__))
    return 0


def _random(args: argparse.Namespace) -> int:
    make = random_model
    if args.near or args.cpu:
        make = random_near_model if args.near else random_cpu_model
    write_output(args.output, make(args.seed))
    return 0
