"""Completion offers what the parsers take, in each shell that is installed here."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from nearfar.cli.commands import COMMANDS
from nearfar.cli.main import main
from nearfar.measuring.machine import memory_nodes
from nearfar.model import presets

Capture = pytest.CaptureFixture[str]

COMMAND_NAMES = {command.name for command in COMMANDS}
VERBS = {"list", "show", "check", "schema", "export", "random"}


HOST = {
    *("host", "host:pages=2MiB", "host:pages=1GiB", "host:file="),
    *(f"host:node={node}" for node in memory_nodes()),
}


def script(shell: str, capsys: Capture) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def run(shell: str, code: str, folder: Path) -> list[str]:
    """The lines a shell prints for `code`, without start-up files."""
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    flags = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    process = subprocess.run(
        [path, *flags, "-c", code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stderr == ""
    return process.stdout.splitlines()


def bash(line: str, folder: Path, capsys: Capture) -> set[str]:
    file = folder / "script"
    file.write_text(script("bash", capsys))
    code = (
        f"source {file}; rm {file}; COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; _nearfar; "
        '(( ${#COMPREPLY[@]} )) && printf "%s\\n" "${COMPREPLY[@]}"; true'
    )
    return set(run("bash", code, folder))


# Stand-ins for what only an interactive zsh has: they print what it would offer.
ZSH_STUBS = """
compdef() { }
_describe() { local -a offered=("${(@P)2}"); print -rl -- "${(@)offered%%:*}" }
compadd() { [[ $1 == -S ]] && shift 2; shift; print -rl -- "$@" }
_files() { print -rl -- *(N) }
"""


def zsh(line: str, folder: Path, capsys: Capture) -> set[str]:
    file = folder / "script"
    file.write_text(ZSH_STUBS + script("zsh", capsys))
    words = " ".join(f"'{word}'" for word in line.split(" "))
    code = (
        f"source {file}; rm {file}; words=({words}); CURRENT=$#words; PREFIX=$words[CURRENT]; "
        "_nearfar"
    )
    prefix = line.split(" ")[-1]  # zsh itself drops what does not begin with it
    return {name for name in run("zsh", code, folder) if name.startswith(prefix)}


def fish(line: str, folder: Path, capsys: Capture) -> set[str]:
    file = folder / "script"
    file.write_text(script("fish", capsys))
    code = f"source {file}; rm {file}; complete -C '{line}'"
    return {offer.partition("\t")[0] for offer in run("fish", code, folder)}


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("nearfar ", COMMAND_NAMES),
        ("nearfar mod", {"model"}),
        ("nearfar model ", VERBS),
        ("nearfar model sho", {"show"}),
        ("nearfar model show optane-2", {"optane-200"}),
        ("nearfar model show ", {*presets(), "mine.toml"}),
        ("nearfar model show --js", {"--json"}),
        ("nearfar model export --out", {"--output"}),
        ("nearfar model show --json mi", {"mine.toml"}),
        ("nearfar probe ho", HOST),
        ("nearfar measure ho", HOST),
        ("nearfar validate ho", set()),
        ("nearfar probe --resume mi", {"mine.toml"}),
        ("nearfar compare mi", {"mine.toml"}),
        ("nearfar infer mi", {"mine.toml"}),
        ("nearfar completion ", {"bash", "zsh", "fish"}),
    ],
)
def test_the_words_that_may_follow_are_offered(
    shell: str, line: str, offered: set[str], tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "mine.toml").touch()
    assert SHELLS[shell](line, tmp_path, capsys) == offered


def test_bash_goes_on_behind_an_equals_sign(tmp_path: Path, capsys: Capture) -> None:
    assert bash("nearfar probe host:pages=", tmp_path, capsys) == {"2MiB", "1GiB"}
    assert bash("nearfar probe host:fi", tmp_path, capsys) == {"file="}


def test_no_command_is_forgotten(capsys: Capture) -> None:
    for shell in SHELLS:
        text = script(shell, capsys)
        assert [name for name in COMMAND_NAMES if name not in text] == []
