"""The page on probing lists the findings and the cases that no probe can tell, all of them."""

from __future__ import annotations

import re
from pathlib import Path

from nearfar.inference.cases import CASES
from nearfar.inference.orders import _BUILDERS
from nearfar.results.findings import NAMES

_DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = (_DOCS / "probing.md").read_text(encoding="utf-8")
HOST_PAGE = (_DOCS / "probing-host.md").read_text(encoding="utf-8")


def test_every_case_that_no_probe_can_tell_is_published_in_its_words() -> None:
    section = PAGE.partition("## What no probe can tell")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.+?`) \| (.+?) \|$", section, re.MULTILINE)
    published = [(tuple(re.findall(r"`(.+?)`", names)), reason) for names, reason in rows]
    assert published == [(names, reason) for reason, names in CASES.items()]


def test_every_kind_of_experiment_is_described() -> None:
    assert [kind for kind in _BUILDERS if f"`{kind}`" not in PAGE] == []


def test_every_finding_of_a_models_probe_is_listed() -> None:
    section = PAGE.partition("## Findings")[2].partition("\n## ")[0]
    others = re.compile(r"(cache|tlb|core|bandwidth|aist|ict|near)\.")
    names = [name for name in NAMES if not others.match(name)]
    assert [name for name in names if f"`{name}`" not in section] == []


def test_every_finding_of_a_processor_is_listed() -> None:
    names = [name for name in NAMES if name.startswith(("cache.", "tlb.", "core."))]
    assert [name for name in names if f"`{name}`" not in HOST_PAGE] == []
