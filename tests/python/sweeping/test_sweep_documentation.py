"""What the page on sweeps tells readers to type works, from top to bottom."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from nearfar.sweeping.show import read_sweep
from nearfar.sweeping.study_file import read_study

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "sweep.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_commands_of_the_page_work(
    nearfar: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line for block in blocks("sh") for line in block.replace("\\\n", " ").splitlines()]
    # Dask and Slurm have tests of their own, with schedulers.
    commands = [shlex.split(line)[1:] for line in lines if "--on" not in line]
    assert len(commands) >= 11
    for words in commands:
        if "--point" in words:
            words[-1] = read_sweep(words[2]).points[0].id[:8]
        status, _, err = nearfar(*words)
        assert status == 0, (words, err)
    for made in ("rmw.html", "rmw.csv", "dimms.html", "which.db", "least.db"):
        assert (tmp_path / made).stat().st_size > 0


def test_the_study_of_the_page_is_one(tmp_path: Path) -> None:
    (block,) = blocks("toml")
    file = tmp_path / "s.toml"
    file.write_text(block, encoding="utf-8")
    assert len(list(read_study(str(file)).cells())) == 7 * 3 * 2
