"""`nearfar completion`: completion scripts, generated from the parsers themselves.

Every script asks the same question, "which words may follow here", so all three are made
of one table: command path to its options, and for each option or operand the words or the
files it takes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field

from nearfar.cli.options import (
    output_path,
)
from nearfar.cli.parser import Parser
from nearfar.cli.streams import emit
from nearfar.model import presets

SHELLS = ("bash", "zsh", "fish")


@dataclass
class Level:
    """What may follow a command path such as `nearfar model show`."""

    path: tuple[str, ...]
    commands: dict[str, str] = field(default_factory=dict)  # name to help
    options: dict[str, str] = field(default_factory=dict)  # option to help
    values: dict[str, list[str]] = field(default_factory=dict)  # option to the words it takes
    file_options: list[str] = field(default_factory=list)  # options that take a file
    free_options: list[str] = field(default_factory=list)  # options that take any other value
    words: list[str] = field(default_factory=list)  # what an operand may be
    files: bool = False  # whether an operand may be a file


def add_arguments(parser: Parser) -> None:
    """The shell's name."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=" or ".join(SHELLS))
    parser.epilog = (
        'bash: eval "$(nearfar completion bash)"; '
        'zsh: eval "$(nearfar completion zsh)" after compinit; '
        "fish: nearfar completion fish | source"
    )


def run(args: argparse.Namespace) -> int:
    """Print the script for the shell."""
    # Imported here: the commands import this module.
    from nearfar.cli.commands import COMMANDS
    from nearfar.cli.main import build_parser

    levels = list(survey(build_parser(COMMANDS), ()))
    emit({"bash": bash, "zsh": zsh, "fish": fish}[args.shell](levels))
    return 0


def survey(parser: argparse.ArgumentParser, path: tuple[str, ...]) -> Iterator[Level]:
    """The level of `parser`, then those of its commands."""
    level = Level(path)
    below: list[tuple[str, argparse.ArgumentParser]] = []
    for action in parser._actions:
        about = (action.help or "").replace("%%", "%")
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            level.commands = {name: helps.get(name, "") for name in action.choices}
            below = list(action.choices.items())
        elif action.option_strings:
            for option in action.option_strings:
                level.options[option] = about
                _note_value(level, option, action)
        else:
            level.words += _words(action)
            level.files |= _takes_file(action)
    yield level
    for name, inner in below:
        yield from survey(inner, (*path, name))


def _note_value(level: Level, option: str, action: argparse.Action) -> None:
    if action.nargs == 0:
        return
    if action.choices is not None:
        level.values[option] = [str(choice) for choice in action.choices]
    elif _takes_file(action):
        level.file_options.append(option)
    else:
        level.free_options.append(option)


def _words(action: argparse.Action) -> list[str]:
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    if action.metavar == "TARGET":
        host = _host_words() if "host" in (action.help or "") else []
        return [*(f"model:{name}" for name in presets()), *host]
    return presets() if action.metavar == "MODEL" else []


def _host_words() -> list[str]:
    """This machine's memory, and what may be chosen of it."""
    from nearfar.measuring.host.target import PAGES
    from nearfar.measuring.machine import memory_nodes

    nodes = [f"host:node={node}" for node in memory_nodes()]
    pages = [f"host:pages={pages}" for pages in PAGES[1:]]
    return ["host", *nodes, *pages, "host:file=", "kernel", "kernel:range=", "kernel:dax="]


def _takes_file(action: argparse.Action) -> bool:
    files = ("FILE", "TRACE", "RESULT", "MODEL", "DATASET", "PATH", "A", "B")
    return action.type is output_path or action.metavar in files


def bash(levels: list[Level]) -> str:
    """A script for bash 4 and newer."""
    cases = []
    for level in levels:
        lines = [f'    "{" ".join(level.path)}")', "      case $previous in"]
        for option, values in level.values.items():
            lines.append(f'        {option}) words="{" ".join(values)}"; return ;;')
        if level.file_options:
            lines.append(f"        {'|'.join(level.file_options)}) files=1; return ;;")
        if level.free_options:
            lines.append(f"        {'|'.join(level.free_options)}) return ;;")
        lines += ["      esac", f'      options="{" ".join(level.options)}"']
        lines.append(f'      words="{" ".join([*level.commands, *level.words])}"')
        lines += ["      files=1", "      ;;"] if level.files else ["      ;;"]
        cases.append("\n".join(lines))
    known = " ".join(f'["{" ".join(level.path)}"]=1' for level in levels if level.path)
    return _BASH.replace("@KNOWN@", known).replace("@CASES@", "\n".join(cases))


_BASH = """\
# Completion of nearfar for bash.
_nearfar_at() {
  case $1 in
@CASES@
  esac
}

_nearfar() {
  local -A known=(@KNOWN@)
  local line=${COMP_LINE:0:COMP_POINT} path="" word
  local current=${line##*[[:space:]]} previous="" words="" options="" files=""
  local -a typed
  read -r -a typed <<<"${line%"$current"}"
  for word in "${typed[@]:1}"; do
    local longer=${path:+$path }$word
    [[ -n ${known[$longer]} ]] && path=$longer
    previous=$word
  done
  _nearfar_at "$path"
  [[ $current == -* ]] && words=$options files=""
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ -n $files ]] && COMPREPLY+=($(compgen -f -- "$current"))
  # Readline takes the text up to a colon or an equals sign as a word of its own.
  if [[ $current == *[:=]* && $COMP_WORDBREAKS == *:* ]]; then
    local start=${current%"${current##*[:=]}"}
    COMPREPLY=("${COMPREPLY[@]#"$start"}")
  fi
  # What ends so is not complete.
  [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}

complete -o filenames -o nosort -F _nearfar nearfar
"""


def zsh(levels: list[Level]) -> str:
    """A script for zsh with compinit."""
    cases = []
    for level in levels:
        lines = [f"    {_quoted(' '.join(level.path))})", "      case $previous in"]
        for option, values in level.values.items():
            quoted = " ".join(map(_quoted, values))
            lines.append(f"        {option}) compadd -- {quoted}; return ;;")
        if level.file_options:
            lines.append(f"        {'|'.join(level.file_options)}) _files; return ;;")
        if level.free_options:
            lines.append(f"        {'|'.join(level.free_options)}) return ;;")
        lines.append("      esac")
        lines.append(f"      commands=({_described(level.commands)})")
        lines.append(f"      options=({_described(level.options)})")
        lines.append(f"      operands=({' '.join(map(_quoted, level.words))})")
        lines.append(f"      files={'1' if level.files else ''}")
        cases.append("\n".join([*lines, "      ;;"]))
    known = " ".join(_quoted(" ".join(level.path)) + " 1" for level in levels if level.path)
    return _ZSH.replace("@KNOWN@", known).replace("@CASES@", "\n".join(cases))


_ZSH = """\
#compdef nearfar
# Completion of nearfar for zsh.
_nearfar() {
  local -A known=(@KNOWN@)
  local -a commands options operands
  local here="" previous="" files="" word longer missed=1
  for word in "${(@)words[2,CURRENT-1]}"; do
    longer=${here:+$here }$word
    (( ${+known[$longer]} )) && here=$longer
    previous=$word
  done
  case $here in
@CASES@
  esac
  if [[ $PREFIX == -* ]]; then
    _describe option options && missed=0
  else
    (( $#commands )) && _describe command commands && missed=0
    (( $#operands )) && compadd -- ${operands:#*=} && missed=0
    # What ends so is not complete.
    (( ${#${(M)operands:#*=}} )) && compadd -S "" -- ${(M)operands:#*=} && missed=0
    [[ -n $files ]] && _files && missed=0
  fi
  return missed  # 1: nothing fitted, zsh may try other completers
}

compdef _nearfar nearfar
"""


def fish(levels: list[Level]) -> str:
    """A script for fish 3 and newer."""
    lines = ["# Completion of nearfar for fish.", "complete -c nearfar -f"]
    for level in levels:
        condition = _fish_condition(level)
        for name, about in level.commands.items():
            lines.append(f"{condition} -a {name} -d {_fish_quoted(about)}")
        for option, about in level.options.items():
            lines.append(f"{condition} {_fish_option(level, option)} -d {_fish_quoted(about)}")
        if level.words:
            lines.append(f"{condition} -a {_fish_quoted(' '.join(level.words))}")
        if level.files:
            lines.append(f"{condition} -F")
    return "\n".join(lines) + "\n"


def _fish_condition(level: Level) -> str:
    tests = [f"__fish_seen_subcommand_from {name}" for name in level.path]
    if level.commands:
        tests.append(f"not __fish_seen_subcommand_from {' '.join(level.commands)}")
    return f"complete -c nearfar -n {_fish_quoted('; and '.join(tests))}" if tests else ""


def _fish_option(level: Level, option: str) -> str:
    text = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
    if option in level.values:
        return f"{text} -x -a {_fish_quoted(' '.join(level.values[option]))}"
    if option in level.file_options:
        return f"{text} -r -F"
    return f"{text} -x" if option in level.free_options else text


def _described(names: dict[str, str]) -> str:
    return " ".join(_quoted(f"{name}:{about}") for name, about in names.items())


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
