"""argparse, with errors as this program words them: one line, the nearest valid name."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, cast

from nearfar.errors import InputError, suggestion

_PROGRAM = "nearfar"
_LEAF = "_leaf"
_MISSING = "the following arguments are required: "
_PROGRAM_OPERAND = "PROGRAM"  # with arguments of its own
_NEGATIVE = re.compile(r"-\.?\d")
_NO_VALUE = ": ignored explicit argument "  # of argparse, to an option that takes none


class Parser(argparse.ArgumentParser):
    """A parser that raises InputError instead of printing usage and exiting.

    Abbreviated options are refused: an option added later must not change what a script
    means.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)
        # The innermost parser wins: it knows which options the command has.
        self.set_defaults(**{_LEAF: self})
        self._given: list[str] = []
        self.default_command = ""  # that is meant where none is named

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The parsed command line. Raises InputError, with the nearest valid name."""
        parsed, unknown = self.parse_known_args(arguments)
        leaf: Parser = vars(parsed).pop(_LEAF)
        if unknown:
            leaf._refuse(unknown[0])
        return cast(argparse.Namespace, parsed)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Checks long options first: a misspelt one explains more than a missing operand."""
        self._given = args = self._joined(args or ())
        commands = self.commands()
        if self.default_command and self._names_no_command(args):
            args = [self.default_command, *args]
        operands = 0
        for argument in args:
            if argument == "--" or argument in commands:
                break
            if not argument.startswith("-"):
                if commands and operands == self.operands_before_command():
                    break  # a misspelt command, which explains more than what follows it
                operands += 1
            name = argument.partition("=")[0]
            if " " in name or name in self.options():
                continue
            if name.startswith("--") or f"-{name}" in self.options():
                self._refuse(argument)
        return super().parse_known_args(args, namespace)

    def _names_no_command(self, args: Sequence[str]) -> bool:
        """Whether what is given is all for the default command; --help alone is for this one."""
        return bool(args) and args[0] not in (*self.commands(), "-h", "--help")

    def _joined(self, args: Sequence[str]) -> list[str]:
        """`--near -5%` as `--near=-5%`: argparse takes for options what begins like numbers."""
        joined: list[str] = []
        for i, argument in enumerate(args):
            if argument == "--":
                return joined + list(args[i:])
            before = joined[-1] if joined else ""
            if before.startswith("--") and self._takes_value(before) and _NEGATIVE.match(argument):
                joined[-1] += f"={argument}"
            else:
                joined.append(argument)
        return joined

    def _takes_value(self, argument: str) -> bool:
        """Whether it is an option whose value comes as the next argument."""
        action = self._option_string_actions.get(argument)
        return action is not None and action.nargs is None

    def _begins_program(self, argument: str) -> bool:
        """Whether an argument stands behind PROGRAM, without the -- that belongs before that."""
        operands = [action.metavar for action in self._actions if not action.option_strings]
        if _PROGRAM_OPERAND not in operands or "--" in self._given or argument not in self._given:
            return False
        found, before = 0, ""
        for given in self._given[: self._given.index(argument)]:
            found += not given.startswith("-") and not self._takes_value(before)
            before = given
        return found > operands.index(_PROGRAM_OPERAND)

    def options(self) -> list[str]:
        """Every option string of this parser."""
        return list(self._option_string_actions)

    def commands(self) -> dict[str, Parser]:
        """The parsers of this one's commands, by name; none if it has no commands."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return dict(action.choices)
        return {}

    def operands_before_command(self) -> int:
        """How many operands come before the command, for a parser that has commands."""
        operands = [action for action in self._actions if not action.option_strings]
        kinds = [isinstance(action, argparse._SubParsersAction) for action in operands]
        return kinds.index(True)

    def options_below(self) -> list[str]:
        """The option strings of every command of this one, and of theirs."""
        below = self.commands().values()
        return [name for parser in below for name in (*parser.options(), *parser.options_below())]

    def error(self, message: str) -> NoReturn:
        """Raise InputError with `message`, after the command it is about."""
        command = self.prog.removeprefix(_PROGRAM).strip()
        text = message.removeprefix("argument ")
        if text.startswith(_MISSING):
            usage = " ".join(self.format_usage().split())
            text = f"found no {text.removeprefix(_MISSING)}; {usage}"
        elif _NO_VALUE in text:
            option, value = text.split(_NO_VALUE, 1)
            text = f"{option}: found {value}, expected no value: give {option} by itself"
        raise InputError(f"{command}: {text}" if command else text)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Unlike argparse's, does not hide that nothing could be written."""
        (file or sys.stderr).write(message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices: Iterable[Any] | None = action.choices
        if choices is None or value in choices:
            return
        names = [str(choice) for choice in choices]
        hint = suggestion(str(value), names)
        raise argparse.ArgumentError(
            action, f"found '{value}', expected one of {', '.join(names)}{hint}"
        )

    def _refuse(self, argument: str) -> NoReturn:
        name = argument.partition("=")[0]
        if not name.startswith("-"):
            usage = " ".join(self.format_usage().split())
            self.error(f"found '{argument}' too many; {usage}")
        if name in (*self.options(), *self.options_below()):
            self.error(f"found '{name}' too early, expected it after the command")
        if self._begins_program(argument):
            self.error(f"found unknown option '{name}'; put -- before {_PROGRAM_OPERAND}")
        hint = suggestion(name, [*self.options(), *self.options_below()])
        self.error(f"found unknown option '{name}'{hint}")
