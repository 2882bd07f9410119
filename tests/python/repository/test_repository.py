"""What every file of the repository must satisfy."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
CODE = {".cpp", ".h", ".py"}
LONGEST_FILE = 450

# A word that only means something where this was written: private paths, trackers, hosts.
PRIVATE = re.compile(
    r"""
      (?<![\w.])/(?:work|root|home)/\w        # a path on one machine
    | (?<!\w)/tmp/\w                          # a temporary file by name
    | \.\./shared\b
    | \b(?:issue|ticket|session)\s+\#?\d+\b   # a tracker's number
    | \b(?:pypi\.org|pythonhosted|artifactory|proxy\.golang)\b
    | \b(?:TODO|FIXME|XXX|HACK)\b
    """,
    re.VERBOSE,
)


def repository_files() -> Iterator[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            yield ROOT / name


def private_words(text: str) -> list[str]:
    return [match.group() for match in PRIVATE.finditer(text)]


def too_long(text: str) -> bool:
    return len(text.splitlines()) > LONGEST_FILE


def test_files_name_nothing_outside_the_product() -> None:
    found = {}
    for file in repository_files():
        if file == Path(__file__):
            continue
        words = private_words(file.read_text(encoding="utf-8", errors="replace"))
        if words:
            found[file.relative_to(ROOT).as_posix()] = words
    assert found == {}


@pytest.mark.parametrize(
    "text",
    ["/home/me/x", "see /work/main", "in ../shared/spec", "issue #12", "/tmp/log", "# TODO: later"],
)
def test_a_private_word_is_noticed(text: str) -> None:
    assert private_words(text) != []


@pytest.mark.parametrize("text", ["/proc/self", "the work done", "network/work", "issues reads"])
def test_an_ordinary_word_is_not_noticed(text: str) -> None:
    assert private_words(text) == []


def test_a_code_file_is_short_enough() -> None:
    long = [
        file.relative_to(ROOT).as_posix()
        for file in repository_files()
        if file.suffix in CODE and too_long(file.read_text(encoding="utf-8"))
    ]
    assert long == []


def test_a_long_file_is_noticed() -> None:
    assert too_long("x\n" * (LONGEST_FILE + 1))
    assert not too_long("x\n" * LONGEST_FILE)


def test_text_files_end_with_a_newline_and_use_no_tabs_in_code() -> None:
    inputs = ROOT / "tests" / "fuzz" / "corpus"  # of readers, as bad as they come
    for file in repository_files():
        if file.suffix in CODE | {".md", ".toml", ".yml"} and inputs not in file.parents:
            text = file.read_text(encoding="utf-8")
            assert text == "" or text.endswith("\n"), file
            assert file.suffix not in CODE or "\t" not in text, file


def links(markdown: str) -> list[str]:
    """Targets of the links and images of a page that lead to another file."""
    targets = re.findall(r"\]\(([^)\s#]+)[^)]*\)|<img[^>]+src=\"([^\"]+)\"", markdown)
    return [a or b for a, b in targets if not re.match(r"[a-z]+:", a or b)]


def test_links_between_pages_lead_somewhere() -> None:
    """A page that `make docs` makes from the program need not be there before."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    made = {ROOT / page for page in re.findall(r">(docs/\S+\.md)$", makefile, re.MULTILINE)}
    assert len(made) == 2
    broken = [
        f"{file.relative_to(ROOT)}: {target}"
        for file in repository_files()
        if file.suffix == ".md"
        for target in links(file.read_text(encoding="utf-8"))
        if not (file.parent / target).exists() and file.parent / target not in made
    ]
    assert broken == []


def test_links_are_found() -> None:
    assert links("[a](b.md#c) ![d](e.png) [f](https://g)") == ["b.md", "e.png"]


def test_make_targets_named_in_the_pages_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for file in repository_files():
        if file.suffix == ".md":
            for named in re.findall(r"`make ([a-z-]+)", file.read_text(encoding="utf-8")):
                assert named in targets, f"{file.name} names make {named}"


def test_the_version_is_the_same_wherever_it_is_written() -> None:
    def found(file: str, pattern: str) -> str:
        match = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
        assert match is not None, f"{file}: no version"
        return match.group(1)

    version = found("python/nearfar/version.py", r'^VERSION = "(.+)"$')
    assert found("CITATION.cff", r"^version: (.+)$") == version
    assert found("CHANGELOG.md", r"^## (\d\S+) - ") == version
    assert found("core/library/include/nearfar/memory.h", r'as "(\d[\d.]+)"') == version
