"""The check of commits' subjects refuses statements and long lines, in new commits only."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts" / "check-commits"
fault = runpy.run_path(str(SCRIPT))["fault"]


@pytest.mark.parametrize(
    "subject",
    [
        "Retry refused pages after a growing delay",
        "Process requests in order",
        "Compress far pages",
        "Seed every generator",
        "Merge branch 'pager'",
        'Revert "Pages that are refused are tried again"',
        "A" + "dd x" * 17 + " ab",
    ],
)
def test_an_imperative_of_at_most_72_characters_passes(subject: str) -> None:
    assert fault(subject) == ""


@pytest.mark.parametrize(
    ("subject", "wrong"),
    [
        ("The changelog says what changed", "imperative"),
        ("What is protected is copied out", "imperative"),
        ("Fixed the copy of far pages", "imperative"),
        ("Adds a policy", "imperative"),
        ("Adding a policy", "imperative"),
        ("retry refused pages", "capital"),
        ("tier: retry", "capital"),
        ("Retry refused pages.", "full stop"),
        ("Add " + "x" * 69, "73 characters"),
    ],
)
def test_another_subject_is_refused_with_the_reason(subject: str, wrong: str) -> None:
    assert wrong in fault(subject)


class Repository:
    """A repository with this check in it, and nothing else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "scripts").mkdir(parents=True)
        shutil.copy(SCRIPT, folder / "scripts")
        self.git("init", "--quiet")

    def git(self, *words: str) -> None:
        names = {
            f"GIT_{role}_{what}": "a@b"
            for role in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        subprocess.run(["git", *words], cwd=self.folder, check=True, env={**os.environ, **names})

    def commit(self, subject: str) -> None:
        self.git("commit", "--quiet", "--allow-empty", "--message", subject)

    def check(self) -> tuple[int, str]:
        ran = subprocess.run(
            [self.folder / "scripts" / "check-commits"], capture_output=True, text=True, check=False
        )
        return ran.returncode, ran.stdout


def test_only_commits_behind_the_last_tag_are_checked(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.commit("What was wrong before")
    repository.git("tag", "v1")
    repository.commit("Add a thing")
    assert repository.check() == (0, "")
    repository.commit("Added another thing")
    status, said = repository.check()
    assert status == 1
    assert '"Added another thing": begins with' in said
    assert "before" not in said


def test_a_clone_that_lacks_the_base_has_no_new_commits(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.commit("What was wrong before")
    assert repository.check() == (0, "")


def test_a_folder_that_is_no_repository_has_no_new_commits(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    shutil.rmtree(tmp_path / ".git")
    assert repository.check() == (0, "")
