"""Every command of the first page runs, in order, in an empty folder, as the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import needs_front_end
from tiered import needs_tier

PAGE = Path(__file__).resolve().parents[3] / "docs" / "start.md"


def section(title: str) -> str:
    """What the page says below one heading."""
    return PAGE.read_text(encoding="utf-8").partition(f"\n## {title}")[2].partition("\n## ")[0]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def follow(text: str, folder: Path) -> str:
    """Type every command of a part of the page; what all of them print."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    typed = "set -e\n" + "".join(blocks(text, "sh"))
    ran = subprocess.run(
        ["bash", "-c", typed],
        cwd=folder, env={**os.environ, "PATH": path},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout + ran.stderr


def test_installing_ends_with_a_look_at_the_machine(tmp_path: Path) -> None:
    assert "ok        core" in follow(section("Install"), tmp_path)


def test_measuring_gives_a_curve_and_a_page(tmp_path: Path) -> None:
    printed = follow(section("Measure"), tmp_path)
    assert "host: chase (measured)" in printed
    assert "cache.1.capacity" in (tmp_path / "host.html").read_text(encoding="utf-8")


@needs_front_end
def test_a_model_of_ones_own_is_checked_measured_and_runs_a_program(tmp_path: Path) -> None:
    (written,) = blocks(section("Model"), "toml")
    (tmp_path / "mine.toml").write_text(written, encoding="utf-8")
    chase = "nearfar measure host chase --region 16KiB,16MiB --op load --regions repeat"
    printed = follow(f"```sh\n{chase} --json host.json\n```\n" + section("Model"), tmp_path)
    assert "mine.toml: ok" in printed
    assert "loads from memory" in printed
    lines = (tmp_path / "sorted.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(Path("/etc/services").read_text(encoding="utf-8").splitlines())


@needs_tier
def test_a_program_in_less_memory_prints_the_same_and_its_faults_are_replayed(
    tmp_path: Path,
) -> None:
    shown = blocks(section("Manage"), "text")[0].splitlines()
    printed = follow(section("Manage"), tmp_path)
    assert shown[0] in printed.splitlines()
    assert "(limit 16.0 MiB)" in printed
    assert "(Belady)" in printed


@pytest.mark.parametrize("job", ["Install", "Measure", "Model", "Manage"])
def test_every_job_has_commands(job: str) -> None:
    assert "nearfar " in "".join(blocks(section(job), "sh"))
