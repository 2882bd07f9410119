"""Programs that do not run on the processor itself are refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tiered import needs_tier, run_tiered

pytestmark = needs_tier


@pytest.mark.parametrize(
    ("tool", "options"), [("valgrind", ("-q",)), ("qemu-x86_64", ())], ids=["valgrind", "qemu-user"]
)
def test_a_program_inside_a_tool_is_refused_in_a_line(
    tmp_path: Path, tool: str, options: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"no {tool}")
    ran = run_tiered(tmp_path, "16MiB", tool, *options, "/bin/true")
    named = request.node.callspec.id
    assert ran.status == 2
    assert ran.err.startswith(f"nearfar tier: {named}: expected a program that the processor runs")
    assert ran.err.count("\n") == 1


def test_a_program_whose_path_names_a_tool_is_not_refused(tmp_path: Path) -> None:
    program = tmp_path / "valgrind" / "qemu-x86_64"
    program.parent.mkdir()
    shutil.copy("/bin/echo", program)
    ran = run_tiered(tmp_path, "16MiB", program, "runs")
    assert (ran.out, ran.err, ran.status) == ("runs\n", "", 0)
