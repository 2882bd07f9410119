"""The command line: what it answers, where, with which status, and never a traceback."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

from nearfar import __version__
from nearfar.cli import main as cli
from nearfar.cli.commands import COMMANDS, Command
from nearfar.errors import InputError, NearfarError
from nearfar.model import load, presets, processors
from nearfar.model.document import schema_markdown
from nearfar.model.schema import KEYS

PACKAGE = Path(__file__).resolve().parents[3] / "python"
Capture = pytest.CaptureFixture[str]
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def nearfar(
    *arguments: str,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
    environment: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the program as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "nearfar", *arguments],
        env={**os.environ, "PYTHONPATH": str(PACKAGE), **(environment or {})},
        stdout=stdout,
        stderr=stderr,
        text=True,
        check=False,
    )


def one_line(capsys: Capture, *arguments: str, status: int = 2) -> str:
    """The error of a command line that fails: one line, nothing on standard output."""
    assert cli.main(arguments) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith("\n")
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("nearfar: ")
    return captured.err.removeprefix("nearfar: ").rstrip("\n")


# What it answers


def test_help_lists_every_command(capsys: Capture) -> None:
    assert cli.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert [command.name for command in COMMANDS if command.name not in out] == []


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_explains_itself(command: Command, capsys: Capture) -> None:
    assert cli.main([command.name, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"usage: nearfar {command.name}")
    assert command.help[:20] in out


def test_without_a_command_help_goes_to_standard_error(capsys: Capture) -> None:
    assert cli.main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("usage: nearfar")


def test_the_version_is_one_line(capsys: Capture) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("nearfar ")


def test_models_are_listed(capsys: Capture) -> None:
    assert cli.main(["model", "list"]) == 0
    models, fronts = capsys.readouterr().out.split("\n\nProcessors")
    assert [line.split()[0] for line in models.splitlines()] == presets()
    assert [line.split()[0] for line in fronts.splitlines()[1:]] == processors()


def test_show_prints_value_unit_source_and_alternatives(capsys: Capture) -> None:
    assert cli.main(["model", "show", "model:optane-100,channels=6"]) == 0
    out = capsys.readouterr().out
    model = load("optane-100")
    assert "6 channels" in out
    for name, entry in model.values.items():
        if name != "channels":
            assert f"{name} " in out
            assert entry.text in out
            assert entry.source in out
    for text in model.alternatives.values():
        assert f"alternatives: {text}" in out


def test_show_gives_the_same_as_json(capsys: Capture) -> None:
    assert cli.main(["model", "show", "optane-100", "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    model = load("optane-100")
    assert {entry["key"]: entry["value"] for entry in data["values"]} == {
        name: entry.value for name, entry in model.values.items()
    }
    assert data["hash"] == f"sha256:{model.hash()}"


def test_export_prints_the_form_that_the_core_reads(capsys: Capture) -> None:
    assert cli.main(["model", "export", "model:optane-100,channels=6"]) == 0
    mark, _, exported = capsys.readouterr().out.partition("\n")
    assert mark == f"# nearfar {__version__} optane-100,channels=6"
    assert exported == load("optane-100").override(channels=6).export()


def test_export_writes_a_file(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "model.txt"
    assert cli.main(["model", "export", "ddr4-2666", "-o", str(file)]) == 0
    assert file.read_text() == load("ddr4-2666").export_file(__version__)
    assert capsys.readouterr().out == ""
    assert list(tmp_path.iterdir()) == [file]


def test_check_reports_its_findings(tmp_path: Path, capsys: Capture) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("chanels = 6")
    worse = tmp_path / "worse.toml"
    worse.write_text("= 6")
    assert cli.main(["model", "check", str(bad), "optane-100", str(worse)]) == 2
    captured = capsys.readouterr()
    assert captured.out.startswith("optane-100: ok: nvdimm machine, 1 channel of 256 GiB")
    first, second = captured.err.splitlines()
    assert first.startswith(f"nearfar: {bad}:1: found unknown key 'chanels'")
    assert second.startswith(f"nearfar: {worse}:1: found no valid TOML")


def test_the_schema_documents_every_key(capsys: Capture) -> None:
    assert cli.main(["model", "schema"]) == 0
    text = capsys.readouterr().out
    assert cli.main(["model", "schema", "--markdown"]) == 0
    page = capsys.readouterr().out
    assert page == schema_markdown()
    for name, key in KEYS.items():
        assert f"{name}\n" in text
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
        cells = [cell.strip() for cell in row.replace("\\|", "/").strip("|").split("|")]
        assert len(cells) == 5
        assert cells[1] == key.kind.value
        assert cells[2] != ""
        assert len(cells[4]) > 8


def test_the_schema_can_be_limited_to_one_component(capsys: Capture) -> None:
    assert cli.main(["model", "schema", "nvdimm.rmw"]) == 0
    out = capsys.readouterr().out
    assert "nvdimm.buffer.1.entries" in out
    assert "nvdimm.buffer.2.entries" not in out


def test_the_schema_is_written_as_json(capsys: Capture) -> None:
    assert cli.main(["model", "schema", "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [key["key"] for key in data["keys"]] == list(KEYS)
    by_name = {key["key"]: key for key in data["keys"]}
    assert by_name["dram.clock"]["exported"] == "dram.clock_ps"
    assert by_name["imc.interleave"]["unit"] == "B"


def test_quiet_prints_nothing(capsys: Capture) -> None:
    assert cli.main(["model", "list", "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_json_goes_to_a_file_beside_the_text(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "out.json"
    assert cli.main(["model", "list", "--json", str(file)]) == 0
    assert [model["name"] for model in json.loads(file.read_text())["models"]] == presets()
    assert capsys.readouterr().out != ""


# Wrong usage


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("modle list", "COMMAND: found 'modle', expected one of .*model.*; did you mean model"),
        ("model lst", "model: VERB: found 'lst', expected one of list, .*; did you mean list"),
        ("model", "model: found no VERB; usage: nearfar model"),
        ("model show", "model show: found no MODEL; usage: nearfar model show"),
        (
            "model show --jsn - optane-100",
            "model show: found unknown option '--jsn'; did you mean --json",
        ),
        ("model show --jsn", "model show: found unknown option '--jsn'; did you mean --json"),
        ("model show optane-100 --jsn=-", "found unknown option '--jsn'; did you mean --json"),
        ("model show optane-100 -j", "model show: found unknown option '-j'"),
        ("model show --js - optane-100", "found unknown option '--js'; did you mean --json"),
        ("--quiet model list", "found '--quiet' too early, expected it after the command"),
        ("model --quiet list", "model: found '--quiet' too early, expected it after the command"),
        (
            "tier run --sigbus=1 --near 1GiB --far anonymous -- true",
            "tier run: --sigbus: found '1', expected no value: give --sigbus by itself",
        ),
        ("--quit model list", "found unknown option '--quit'; did you mean --quiet"),
        ("mesure --json -", "COMMAND: found 'mesure', expected one of .*; did you mean measure"),
        (
            "measure model:optane-100 overwrit --writes 4",
            "measure: PATTERN: found 'overwrit', expected one of .*; did you mean overwrite",
        ),
        (
            "tier run --near 8MiB --far anonymous python3 -c 1",
            "tier run: found unknown option '-c'; put -- before PROGRAM$",
        ),
        ("run model:ddr4-2666 --pages huge ls --all", "run: .* '--all'; put -- before PROGRAM$"),
        ("run model:ddr4-2666 --page huge -- ls --all", "run: .* '--page'; did you mean --pages"),
        ("run --page huge model:ddr4-2666 ls", "run: .* '--page'; did you mean --pages"),
        ("tier run -near 8MiB -- true", "unknown option '-near'; did you mean --near"),
        ("model export ddr4-2666 -output x", "unknown option '-output'; did you mean --output"),
        ("tier top --interval 1", "--interval: found '1' without a unit.*; did you mean 1s"),
        ("tier top --interval 200", "--interval: found '200' .*; did you mean 200ms"),
        ("tier top --interval -1s", "--interval: found '-1s', expected at least 50 ms"),
        ("model show optane-100 x", "model show: found 'x' too many; usage: nearfar model show"),
        ("model show optane-100 --json", "model show: --json: expected one argument"),
        (
            "model show optane-10",
            "found no model 'optane-10', expected one of .*; did you mean optane-100",
        ),
        ("model export optane-100,channels=9", "optane-100,channels=9: found 9, expected 1 to 8"),
        ("model export host", "found no model 'host'"),
        ("model schema nvdim", "found unknown key 'nvdim'"),
        ("model list --json /no/such/x", "--json: /no/such/x: cannot write: No such file"),
        ("model list --json /", "--json: /: is a folder"),
        ("model export ddr4-2666 -o /no/such/x", "-o/--output: /no/such/x: cannot write"),
        ("completion csh", "completion: SHELL: found 'csh', expected one of bash, zsh, fish"),
    ],
)
def test_wrong_usage_is_one_line_with_the_nearest_name(
    line: str, message: str, capsys: Capture
) -> None:
    assert re.search(message, one_line(capsys, *line.split()))


def test_strange_characters_in_an_argument_do_not_break_the_line(capsys: Capture) -> None:
    text = one_line(capsys, "model", "show", "a\nb\x1b[31m")
    assert r"a\nb\x1b[31m" in text


# Failures while a command runs


def install(monkeypatch: pytest.MonkeyPatch, run: object) -> None:
    """Make `nearfar fake` call `run`."""
    module = types.ModuleType("nearfar.cli.fake")

    def add_arguments(parser: argparse.ArgumentParser) -> None:
        del parser

    vars(module).update(add_arguments=add_arguments, run=run)
    monkeypatch.setitem(sys.modules, "nearfar.cli.fake", module)
    monkeypatch.setattr(cli, "COMMANDS", (Command("fake", "fake", "fails"),))


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (InputError("no such thing"), 2, "no such thing"),
        (NearfarError("it broke"), 1, "it broke"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (
            OSError(28, "No space left on device", "out.json"),
            1,
            "out.json: No space left on device",
        ),
        (
            OSError(24, "Too many open files"),
            1,
            "too many files are open; raise the limit (ulimit -n)",
        ),
        (
            ImportError("cannot import name '_core' from 'nearfar'"),
            1,
            "the simulator does not load (cannot import name '_core' from 'nearfar'); "
            "`nearfar doctor` says what to do",
        ),
        (
            ZeroDivisionError("division by zero"),
            1,
            "internal error: ZeroDivisionError: division by zero; "
            "NEARFAR_TRACEBACK=1 shows where, please report it",
        ),
    ],
)
def test_a_failure_is_one_line_and_a_status(
    error: BaseException,
    status: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    def run(_: argparse.Namespace) -> int:
        raise error

    install(monkeypatch, run)
    assert one_line(capsys, "fake", status=status) == message


def test_a_developer_can_ask_for_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: argparse.Namespace) -> int:
        raise ZeroDivisionError

    install(monkeypatch, run)
    monkeypatch.setenv("NEARFAR_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        cli.main(["fake"])


def test_the_status_of_a_command_is_that_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lambda _: 1)
    assert cli.main(["fake"]) == 1


# As a process


def test_wrong_input_has_status_2_and_no_traceback() -> None:
    process = nearfar("model", "show", "optane")
    assert process.returncode == 2
    assert process.stderr.count("\n") == 1
    assert process.stdout == ""


def test_a_reader_that_goes_away_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    process = nearfar("model", "show", "optane-100", stdout=write)
    os.close(write)
    assert process.returncode == 141
    assert process.stderr == ""


@needs_full
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "words", ["model show optane-100", "--version", "--help", "tier run --help"]
)
def test_a_full_disk_is_one_line(words: str, unbuffered: str) -> None:
    with Path("/dev/full").open("w") as full:
        process = nearfar(
            *words.split(), stdout=full.fileno(), environment={"PYTHONUNBUFFERED": unbuffered}
        )
    assert process.returncode == 1
    assert process.stderr == "nearfar: output: No space left on device\n"


@needs_full
def test_the_status_tells_when_the_line_finds_no_room() -> None:
    with Path("/dev/full").open("w") as full:
        process = nearfar("modle", stderr=full.fileno(), environment={"PYTHONUNBUFFERED": ""})
    assert process.returncode == 2


def test_closed_standard_streams_are_no_error() -> None:
    command = f"exec {sys.executable} -m nearfar model list >&- 2>&-"
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    process = subprocess.run(["bash", "-c", command], env=environment, check=False)
    assert process.returncode == 0
