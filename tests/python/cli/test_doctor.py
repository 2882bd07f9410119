"""`nearfar doctor` tells what is there, and for what is not, the effect and the remedy."""

from __future__ import annotations

import json
import shutil
import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from nearfar import resources
from nearfar.cli import doctor
from nearfar.cli.main import main
from nearfar.model import presets
from nearfar.results import Precondition

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> None:
    """A core that loads, whether or not this checkout has built its own."""
    module = types.ModuleType("nearfar._core")
    vars(module).update(version=lambda: "1.2.3", __file__="/somewhere/_core.so")
    module.__spec__ = ModuleSpec("nearfar._core", None, origin="/somewhere/_core.so")
    monkeypatch.setitem(sys.modules, "nearfar._core", module)


@pytest.mark.usefixtures("core")
def test_every_check_passes_with_the_core_built(capsys: Capture) -> None:
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "ok        core: 1.2.3 at /somewhere/_core.so\n" in out
    assert f"ok        models: {', '.join(presets())}\n" in out


def test_without_the_core_doctor_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setitem(sys.modules, "nearfar._core", None)  # the import fails
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "missing   core: not loaded" in out
    assert "every simulation needs it" in out
    assert "to get it: make, or: pip install .\n" in out


def test_a_missing_program_is_optional_and_named_with_its_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    for check in (doctor.chromium, doctor.valgrind):
        finding = check()
        assert finding.status == doctor.OPTIONAL
        assert finding.mend == f"apt-get install {finding.name}"


def test_a_program_that_is_there_is_named_with_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert doctor.valgrind().found == "/usr/bin/valgrind"


def test_any_chromium_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"google-chrome": "/opt/google-chrome"}
    monkeypatch.setattr(shutil, "which", there.get)
    assert doctor.chromium().found == "/opt/google-chrome"


def test_a_broken_preset_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    copy = tmp_path / "models"
    shutil.copytree(str(resources.folder("models")), copy)
    (copy / "mine.toml").write_text("chanels = 1")
    monkeypatch.setattr(resources, "folder", lambda name: tmp_path / name)
    finding = doctor.models()
    assert finding.status == doctor.MISSING
    assert "mine.toml:1: found unknown key 'chanels'" in finding.found


def test_missing_reference_data_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str) -> Path:
        raise FileNotFoundError(f"{name}/ is missing")

    monkeypatch.setattr(resources, "folder", nowhere)
    assert doctor.reference().status == doctor.MISSING


def test_the_preconditions_of_measuring_follow(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    conditions = [
        Precondition("load", "bad", "9 processes", "figures scatter", "stop them"),
        Precondition("timer", "ok", "2 GHz", "nothing can be timed"),
    ]
    monkeypatch.setattr(doctor, "preconditions", lambda: conditions)
    main(["doctor"])
    assert capsys.readouterr().out.endswith(
        "\nmeasuring this machine rests on\n\n"
        "bad       load: 9 processes\n"
        "          figures scatter\n"
        "          to mend it: stop them\n"
        "ok        timer: 2 GHz\n"
        "          nothing can be timed\n"
    )
    main(["doctor", "--json", "-"])
    assert json.loads(capsys.readouterr().out)["preconditions"][0] == {
        "name": "load",
        "state": "bad",
        "found": "9 processes",
        "effect": "figures scatter",
        "mend": "stop them",
    }


@pytest.mark.usefixtures("core")
def test_the_findings_are_written_as_json(capsys: Capture) -> None:
    assert main(["doctor", "--json", "-"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert len(findings) == len(doctor.CHECKS)
    for finding in findings:
        assert finding["effect"]
        assert (finding["mend"] != "") == (finding["status"] != doctor.OK)
