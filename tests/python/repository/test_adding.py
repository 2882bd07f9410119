"""What docs/development.md says about adding things: so many files, and no others."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nearfar import Overwrite, _core
from nearfar.measuring import fields
from nearfar.measuring.core import filled
from nearfar.measuring.fields import Option
from nearfar.measuring.patterns import options
from standin import Filled

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "development.md").read_text(encoding="utf-8")

# Imports the package from a tree of sources, past the finder of the one that is installed.
START = """
import sys
sys.meta_path[:] = [one for one in sys.meta_path if type(one).__module__ != "_nearfar_editable"]
sys.path.insert(0, sys.argv.pop(1))
from nearfar.cli.main import main
sys.exit(main())
"""


class Tree:
    """A copy of the Python sources and the presets, in which things can be added."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.package = root / "python" / "nearfar"
        shutil.copytree(
            ROOT / "python", root / "python", ignore=shutil.ignore_patterns("__pycache__")
        )
        shutil.copytree(ROOT / "models", root / "models")
        # What the build makes of the core lies beside it where the package is installed.
        for made in Path(str(_core.__file__)).parent.iterdir():
            if not (self.package / made.name).exists():
                (self.package / made.name).symlink_to(made)
        self.touched: set[Path] = set()

    def write(self, name: str, text: str) -> None:
        """Make a file."""
        path = self.root / name
        assert not path.exists()
        path.write_text(text, encoding="utf-8")
        self.touched.add(path)

    def insert(self, name: str, before: str, line: str) -> None:
        """Put a line before another one."""
        path = self.root / name
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1
        path.write_text(text.replace(before, line + before), encoding="utf-8")
        self.touched.add(path)

    def run(self, *words: str) -> str:
        """What the command prints."""
        ran = subprocess.run(
            [sys.executable, "-c", START, str(self.root / "python"), *words],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "NEARFAR_TRACEBACK": "1"},
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def files_of(thing: str) -> int:
    """How many files the page says that adding a thing touches."""
    (row,) = re.findall(rf"^\| {re.escape(thing)} \| (\d+) \|", PAGE, re.MULTILINE)
    return int(row)


def test_a_preset_is_added_by_the_files_that_the_page_counts(tree: Tree) -> None:
    text = (ROOT / "models" / "ddr4-2666.toml").read_text(encoding="utf-8")
    tree.write("models/my-dram.toml", text.replace('name = "ddr4-2666"', 'name = "my-dram"'))
    assert "my-dram" in tree.run("model", "list")
    assert len(tree.touched) == files_of("a preset")


COMMAND = '''"""`nearfar hello`: says so."""

from __future__ import annotations

import argparse

from nearfar.cli.streams import emit
from nearfar.cli.parser import Parser


def add_arguments(parser: Parser) -> None:
    """None."""


def run(_: argparse.Namespace) -> int:
    """Say it."""
    emit("hello\\n")
    return 0
'''


def test_a_command_is_added_by_the_files_that_the_page_counts(tree: Tree) -> None:
    tree.write("python/nearfar/cli/hello.py", COMMAND)
    line = '    Command("hello", "hello", "say hello"),\n'
    tree.insert("python/nearfar/cli/commands.py", '    Command("doctor"', line)
    assert tree.run("hello") == "hello\n"
    assert "say hello" in tree.run("--help")
    assert "hello" in tree.run("completion", "bash")
    assert len(tree.touched) == files_of("a command")


PROBER = '''"""How long a read takes that nothing else disturbs."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.measuring import Chase, Pattern
from nearfar.probing.points import Bounds, playing
from nearfar.results import Finding, Observation
from nearfar.results.findings import identified


def plan(bounds: Bounds) -> list[Pattern]:
    """One walk."""
    return [Chase(region="4KiB", lines=64)]


def findings(observations: Sequence[Observation]) -> list[Finding]:
    """Its time."""
    (one,) = [one for one in observations if one.prober == "calm"]
    return [identified("memory.latency", one.ns_per_access, "a calm read", [one.id])]


play = playing("calm", plan)
'''


def test_a_prober_is_added_by_the_files_that_the_page_counts(tree: Tree) -> None:
    tree.write("python/nearfar/probing/calm.py", PROBER)
    line = '    Prober("calm", "calm", {MODEL: 1.0}),\n'
    tree.insert("python/nearfar/probing/probers.py", '    Prober("aist"', line)
    assert "calm" in tree.run("probe", "--help")
    saved = str(tree.root / "calm.json")
    out = tree.run("probe", "model:optane-100", "--prober", "calm", "--json", saved)
    assert "memory.latency" in out
    assert tree.run("infer", saved).splitlines()[-1] == out.splitlines()[-1]
    assert len(tree.touched) == files_of("a prober")


@dataclass(frozen=True)
class Patient(Overwrite):
    """A pattern with an option that the others do not have."""

    pause: fields.OptionalCount = fields.OptionalCount(  # noqa: RUF009
        None, Option("ns between writes", json="pause_ns")
    )


def test_an_option_of_measure_is_declared_by_its_pattern_and_by_the_core_and_nowhere_else() -> None:
    class Struct:
        def fields(self) -> list[str]:
            return ["region", "pause"]  # as a struct of the core says in `visit_fields`

        def __call__(self, **values: Any) -> Filled:
            return Filled("struct", values)

    assert options(Patient)["pause"].flag == "--pause"
    assert Patient(pause=3).to_dict()["pause_ns"] == 3
    assert filled(Struct(), Patient(pause=3)).values == {"region": 256, "pause": 3}
    assert files_of("an option of `measure`") == 2


def named(cell: str) -> list[str]:
    """The files that a cell names."""
    return re.findall(r"`([\w./-]+\.(?:py|h|cpp|toml))`", cell)


def test_what_the_page_says_is_written_and_named_is_there() -> None:
    section = PAGE.partition("## Adding something")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (\d+) \| (.+?) \| (.+?) \|$", section, re.MULTILINE)
    assert len(rows) >= 8
    for thing, _, write, name in rows:
        for file in named(name):
            assert (ROOT / file).is_file(), f"{thing}: {file}"
        for file in named(write):
            folder = (ROOT / file).parent
            assert folder.is_dir(), f"{thing}: {folder}"
