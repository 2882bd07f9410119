"""scripts/need says what is missing and what to type, and never passes over it in silence."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

NEED = Path(__file__).resolve().parents[3] / "scripts" / "need"


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """An environment whose PATH has a shell but neither apt-get nor sudo nor valgrind."""
    for tool in ("bash", "id", "env"):
        found = shutil.which(tool)
        assert found is not None
        (tmp_path / tool).symlink_to(found)
    return {"PATH": str(tmp_path)}


def need(environment: dict[str, str], *capabilities: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(NEED), *capabilities], env=environment, capture_output=True, text=True, check=False
    )


def test_a_missing_package_is_named_with_the_command_that_installs_it(bare: dict[str, str]) -> None:
    answer = need(bare, "valgrind", "chromium")
    assert answer.returncode == 1
    assert "sudo apt-get install valgrind chromium" in answer.stderr


def test_an_optional_capability_is_said_to_be_missing_and_is_no_error(bare: dict[str, str]) -> None:
    answer = need(bare, "chromium?")
    assert answer.returncode == 0
    assert "Missing on this system: chromium" in answer.stderr
    assert "skipped" in answer.stderr


def test_in_ci_an_optional_capability_is_required(bare: dict[str, str]) -> None:
    assert need(bare | {"CI": "true"}, "chromium?").returncode == 1


def test_nothing_is_said_when_nothing_is_missing(bare: dict[str, str]) -> None:
    Path(bare["PATH"], "valgrind").write_text("#!/bin/sh\n")
    Path(bare["PATH"], "valgrind").chmod(0o755)
    answer = need(bare, "valgrind")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")


def test_an_unknown_capability_is_a_mistake_in_the_makefile(bare: dict[str, str]) -> None:
    answer = need(bare, "quantum")
    assert answer.returncode == 2
    assert "unknown capability quantum" in answer.stderr


def test_packages_are_installed_where_no_password_is_needed(
    bare: dict[str, str],
) -> None:
    folder = Path(bare["PATH"])
    for tool in ("sh", "chmod", "echo"):
        (folder / tool).symlink_to(shutil.which(tool) or tool)
    # apt-get that "installs" by putting a program of the package's name on the PATH, and an
    # id that says root.
    (folder / "apt-get").write_text(
        f'#!/bin/sh\nfor last; do :; done\n[ "$1" = update ] && exit\n'
        f'echo "#!/bin/sh" >{folder}/$last && chmod 755 {folder}/$last\n'
    )
    (folder / "id").unlink()
    (folder / "id").write_text("#!/bin/sh\necho 0\n")
    for tool in ("apt-get", "id"):
        (folder / tool).chmod(0o755)
    answer = need(bare, "valgrind")
    assert answer.returncode == 0, answer.stderr
    assert (folder / "valgrind").exists()
