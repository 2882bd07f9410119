"""The tutorial on fitting runs as it stands, and ends in a model that predicts."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from nearfar.cli.main import main

PAGE = Path(__file__).resolve().parents[3] / "docs" / "fit.md"


def test_the_tutorial_runs_and_the_model_predicts_what_it_never_saw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tutorial = PAGE.read_text(encoding="utf-8").split("## What a fit does")[0]
    lines = re.findall(r"^nearfar (.*)$", tutorial, re.MULTILINE)
    for line in lines[:-1]:
        assert main(shlex.split(line)) == 0
        if line.startswith("validate"):
            capsys.readouterr()
            assert main([*shlex.split(line), "--json", "-"]) == 0
            known = json.loads(capsys.readouterr().out)["series"]
            assert {one["source"] for one in known} == {"device"}
            assert min(one["mean"] for one in known) > 0.9
    capsys.readouterr()
    assert main([*shlex.split(lines[-1]), "--json", "-"]) == 0
    (series,) = json.loads(capsys.readouterr().out)["series"]
    assert series["n"] == 3
    assert series["mean"] > 0.9
