"""--near of programs on two tiers: what is refused as it was typed, and what is warned about."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from nearfar.cli.tier.near import warn_of_much
from nearfar.tier.outcome import mib
from tiered import MIB, needs_tier

MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("verb", ["run", "set"])
@pytest.mark.parametrize(
    ("near", "said"),
    [
        ("4KiB", "found '4KiB', expected at least 1 MiB"),
        ("0MiB", "found '0MiB', expected at least 1 MiB"),
        ("-64MiB", "found '-64MiB', expected at least 1 MiB"),
        ("8388608TiB", "found '8388608TiB', expected less than 8388608 TiB"),
        ("64", "found '64' without a unit, expected a size; did you mean 64MiB?"),
        ("67108864", "found '67108864' without a unit, expected a size such as '64 MiB'"),
        ("much", "found 'much', expected a size such as '64 MiB'"),
    ],
)
def test_an_impossible_size_is_refused_as_it_was_typed(
    refused: Callable[..., str], verb: str, near: str, said: str
) -> None:
    words = ("--far", "anonymous", "--", "true") if verb == "run" else ("1",)
    assert refused("tier", verb, "--near", near, *words) == f"tier {verb}: --near: {said}"


@needs_tier
def test_more_than_the_machine_has_is_warned_about(nearfar: Run, tmp_path: Path) -> None:
    far = str(tmp_path / "far")
    status, _, err = nearfar(
        "tier", "run", "--near", "100TiB", "--far", far, "--quiet", "--", "true"
    )
    assert status == 0
    much = f"100.0 TiB is more than the {mib(MEMORY)} that this machine has"
    said = f"{much}; nothing will be far before memory runs out"
    assert err == f"nearfar: warning: --near: {said}\n"


def test_a_limit_within_the_machine_is_not_warned_about(capsys: pytest.CaptureFixture[str]) -> None:
    warn_of_much(MEMORY)
    assert capsys.readouterr().err == ""
    warn_of_much(MEMORY + MIB)
    assert capsys.readouterr().err.startswith("nearfar: warning: --near: ")


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0.0 MiB"),
        (64 * MIB, "64.0 MiB"),
        (10239 * MIB, "10239.0 MiB"),
        (10240 * MIB, "10.0 GiB"),
        (100 << 40, "100.0 TiB"),
    ],
)
def test_sizes_are_in_a_fitting_unit(size: int, text: str) -> None:
    assert mib(size) == text
