"""The arrows between rooms hold, and a forbidden one would be noticed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from arrows import forbidden_imports, forbidden_includes, prints

ROOT = Path(__file__).resolve().parents[3]
CORE = ROOT / "core"
PACKAGE = ROOT / "python" / "nearfar"


def test_cpp_folders_include_only_folders_that_the_arrows_allow() -> None:
    assert [str(arrow) for arrow in forbidden_includes(CORE)] == []


def test_python_packages_import_only_packages_that_the_arrows_allow() -> None:
    assert [str(arrow) for arrow in forbidden_imports(PACKAGE)] == []


def test_only_the_command_line_prints() -> None:
    assert [str(arrow) for arrow in prints(PACKAGE)] == []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("base/tick.h", '#include "sim/request.h"'),
        ("base/tick.h", '#include "trace/record.h"'),
        ("trace/record.h", '#include "sim/request.h"'),
        ("sim/dram/channel.h", '#include "sim/nvdimm/dimm.h"'),
        ("sim/nvdimm/dimm.h", '#include "sim/imc/queues.h"'),
        ("sim/imc/queues.h", '#include "sim/cpu/core.h"'),
        ("sim/cpu/core.h", '#include "sim/imc/queues.h"'),
        ("sim/cpu/core.h", '#include "sim/other.h"'),
        ("sim/request.h", '#include "sim/machine/machine.h"'),
        ("sim/machine/machine.h", '#include "bindings/module.h"'),
        ("sim/machine/machine.h", '#include "machine.h"'),
        ("base/tick.h", '  #  include "sim/request.h"'),
        ("base/tick.h", '#include "probe/clock.h"'),
        ("probe/clock.h", '#include "sim/request.h"'),
        ("sim/request.h", '#include "frontend/engine.h"'),
        ("frontend/engine.h", '#include "probe/clock.h"'),
        ("frontend/engine.h", '#include "bindings/module.h"'),
        ("tier/pager/pager.h", '#include "sim/request.h"'),
    ],
)
def test_a_forbidden_include_is_noticed(tmp_path: Path, file: str, line: str) -> None:
    for name in (
        "base/tick.h",
        "trace/record.h",
        "sim/request.h",
        "sim/other.h",
        "sim/dram/channel.h",
        "sim/nvdimm/dimm.h",
        "sim/imc/queues.h",
        "sim/cpu/core.h",
        "sim/machine/machine.h",
        "probe/clock.h",
        "frontend/engine.h",
        "tier/pager/pager.h",
        "bindings/module.h",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("#pragma once\n")
    assert list(forbidden_includes(tmp_path)) == []
    (tmp_path / file).write_text(f"#pragma once\n{line}\n")
    assert [arrow.file for arrow in forbidden_includes(tmp_path)] == [file]


def test_a_file_outside_the_known_folders_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "utils").mkdir()
    (tmp_path / "utils" / "misc.h").write_text("#pragma once\n")
    assert [arrow.file for arrow in forbidden_includes(tmp_path)] == ["utils/misc.h"]


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("results/a.py", "from nearfar.cli import main"),
        ("results/a.py", "from nearfar import cli"),
        ("results/a.py", "from .. import cli"),
        ("results/a.py", "from ..cli import main"),
        ("results/a.py", "import nearfar.cli.main"),
        ("results/a.py", "def f():\n    import nearfar._core"),
        ("model/a.py", "from nearfar.measuring import a"),
        ("inference/a.py", "from nearfar import _core"),
        ("inference/a.py", "from pathlib import Path"),
        ("report/a.py", "from nearfar.simulate import a"),
        ("cli/a.py", "from nearfar import _core"),
        ("simulate/a.py", "import nearfar"),
    ],
)
def test_a_forbidden_import_is_noticed(tmp_path: Path, file: str, line: str) -> None:
    for room in ("cli", "inference", "measuring", "model", "report", "results", "simulate"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").touch()
    assert list(forbidden_imports(tmp_path)) == []
    (tmp_path / file).write_text(line + "\n")
    assert [arrow.file for arrow in forbidden_imports(tmp_path)] == [file]


def test_printing_outside_the_command_line_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "a.py").write_text("print(1)\n")
    assert list(prints(tmp_path)) == []
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "a.py").write_text("import sys\nsys.stdout.write('x')\n")
    (tmp_path / "model" / "b.py").write_text("print(1)\n")
    assert [arrow.file for arrow in prints(tmp_path)] == ["model/a.py", "model/b.py"]


HEAVY = {"numpy", "zstandard", "nearfar._core"}


def modules_loaded_by(statement: str, path: Path) -> set[str]:
    """Which of the heavy modules a fresh interpreter has loaded after `statement`."""
    code = f"import sys; sys.path.insert(0, {str(path)!r}); {statement}; print(*sys.modules)"
    process = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    return HEAVY & set(process.stdout.split())


def test_the_command_line_starts_without_numpy_and_the_core() -> None:
    assert modules_loaded_by("import nearfar.cli", PACKAGE.parent) == set()
    for file in sorted((PACKAGE / "cli").rglob("*.py")):
        if file.stem != "__main__":
            module = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
            loaded = modules_loaded_by(f"import {module}", PACKAGE.parent)
            assert loaded == set(), file.name


def test_a_heavy_import_would_be_noticed(tmp_path: Path) -> None:
    (tmp_path / "heavy.py").write_text("import numpy\n")
    assert modules_loaded_by("import heavy", tmp_path) == {"numpy"}
