"""Entry point: find the command, run it, and turn every failure into one line.

Exit status: 0 done, 1 the work failed, 2 wrong usage or input, 129 the terminal was closed, 130
interrupted, 141 the reader of the output went away, 143 terminated.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from nearfar.cli.commands import COMMANDS, Command
from nearfar.cli.interrupt import INTERRUPTED, Interruptible
from nearfar.cli.parser import Parser
from nearfar.cli.streams import abandon, complain, emit, reason
from nearfar.errors import NearfarError
from nearfar.version import VERSION

READER_GONE = 141
_TRACEBACK = "NEARFAR_TRACEBACK"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: the process's) and return its exit status."""
    _open_closed_streams()
    try:
        status = _run(sys.argv[1:] if argv is None else list(argv))
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        abandon(sys.stdout)
        return READER_GONE
    except NearfarError as error:
        return _fail(str(error), error.exit_code)
    except OSError as error:
        abandon(sys.stdout)
        return _fail(reason(error), 1)
    except Exception as error:
        if os.environ.get(_TRACEBACK):
            raise
        return _fail(_explanation(error), 1)


def build_parser(loaded: Sequence[Command]) -> Parser:
    """The whole parser; only the commands in `loaded` have their options filled in."""
    parser = Parser(
        prog="nearfar",
        description="Measures, models and manages hybrid memory.",
        epilog="`nearfar COMMAND --help` tells more about a command.",
    )
    parser.add_argument(
        "--version",
        action=_ShowVersion,
        nargs=0,
        dest=argparse.SUPPRESS,
        help="print the version and leave",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for command in COMMANDS:
        below = commands.add_parser(command.name, help=command.help, description=command.help)
        if command in loaded:
            command.load().add_arguments(below)
    return parser


def _run(argv: list[str]) -> int:
    # The top level has no option that takes a value: the first word is the command.
    word = next((argument for argument in argv if not argument.startswith("-")), None)
    chosen = [command for command in COMMANDS if command.name == word]
    parser = build_parser(chosen)
    try:
        args = parser.parse(argv)
    except SystemExit as leaving:  # --help and --version have printed and want to leave
        sys.stdout.flush()
        return leaving.code if isinstance(leaving.code, int) else 0
    if args.command is None:
        parser.print_help(sys.stderr)
        return 2
    command = chosen[0].load()
    with Interruptible() as interruptible:
        try:
            return command.run(args)
        except KeyboardInterrupt:
            if not interruptible.told:
                raise
            return _fail(interruptible.why, interruptible.status)


class _ShowVersion(argparse.Action):
    """--version; argparse's own is for a text that it breaks into lines."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        emit(f"nearfar {VERSION}\n")
        parser.exit()


def _explanation(error: Exception) -> str:
    """One line about an unforeseen error, or of an installation without its core."""
    if isinstance(error, ImportError) and "_core" in str(error):
        return f"the simulator does not load ({error}); `nearfar doctor` says what to do"
    what = f"{type(error).__name__}: {error}"
    return f"internal error: {what}; {_TRACEBACK}=1 shows where, please report it"


def _fail(message: str, status: int) -> int:
    try:
        sys.stdout.flush()  # what was printed before the failure
    except OSError:
        abandon(sys.stdout)
    complain(message)
    return status


def _open_closed_streams() -> None:
    """Started with standard output or error closed (`>&-`), write nothing there."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 (for the life of the process)
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
