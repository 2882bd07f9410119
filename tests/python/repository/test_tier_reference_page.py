"""The reference of programs on two tiers names every counter that the core keeps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nearfar._lists import COUNTS

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "tiering-reference.md").read_text(
    encoding="utf-8"
)
# Slots of far memory are told as bytes.
AS_BYTES = {"slots_peak": "far_peak", "stored_peak": "far_stored_peak"}


@pytest.mark.parametrize("name", list(COUNTS))
def test_the_page_names_every_counter(name: str) -> None:
    assert re.search(rf"`{AS_BYTES.get(name, name)}(_bytes)?`", PAGE)
