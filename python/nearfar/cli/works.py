"""The work of a sweep: `nearfar COMMAND` without its target, as text, for every command that a
point can run."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable

from nearfar.cli.parser import Parser
from nearfar.errors import InputError, check_one_of
from nearfar.sweeping.programs import PREFIX, program_work
from nearfar.sweeping.works import (
    CrashWork,
    MeasureWork,
    ReplayWork,
    RunWork,
    ValidateWork,
    Work,
)

_TARGET = "model:optane-100"  # in the place of the target, which the sweep gives
_MAKING = ("--json", "--html", "--command-trace", "--destructive", "--seconds", "--list")


def parse_work(text: str) -> Work:
    """The work that `text` says. Raises InputError."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"work '{text}': {error}") from None
    if not words:
        raise InputError(f"work: found nothing, expected one of {', '.join(_WORKS)}")
    command, *rest = words
    check_one_of("work", command, _WORKS)
    own = rest[: rest.index("--")] if "--" in rest else rest
    for option in own:
        if option.partition("=")[0] in _MAKING:
            raise InputError(
                f"work '{text}': found {option}, which the work of a sweep cannot have"
            )
    parser = Parser(prog=f"nearfar {command}", add_help=False)
    from nearfar.cli.commands import COMMANDS

    module = next(one for one in COMMANDS if one.name == command).load()
    module.add_arguments(parser)
    return _WORKS[command](parser.parse([_TARGET, *rest]))


def _measure(args: argparse.Namespace) -> Work:
    return MeasureWork(args.make(args))


def _replay(args: argparse.Namespace) -> Work:
    from nearfar.cli.replay import replay_options

    return ReplayWork(args.trace, replay_options(args))


def _validate(args: argparse.Namespace) -> Work:
    from nearfar.simulate.validation.validate import select

    against = tuple(args.against.split(","))
    select(args.against, "optane")  # raises for what is not there
    return ValidateWork(against, args.quick)


def _run(args: argparse.Namespace) -> Work:
    from nearfar.cli.run import program_options

    if args.program[0].startswith(PREFIX):
        return program_work(tuple(args.program), program_options(args))
    return RunWork(tuple(args.program), program_options(args))


def _crash(args: argparse.Namespace) -> Work:
    from nearfar.cli.crash import crash_options, crash_program

    return CrashWork(crash_program(args), args.invariant, crash_options(args))


_WORKS: dict[str, Callable[[argparse.Namespace], Work]] = {
    "measure": _measure,
    "replay": _replay,
    "validate": _validate,
    "run": _run,
    "crash": _crash,
}
