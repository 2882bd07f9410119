"""A link is in a model or it is not, and a key of one that is not there is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.errors import InputError
from nearfar.model import load, load_target


def test_a_machine_has_no_link_unless_its_model_has_one() -> None:
    keys = [key for key in load("optane-100").values if key.startswith("link.")]
    assert keys == ["link.kind"]


def test_a_link_stands_in_front_of_any_machine() -> None:
    for name in ("optane-100", "ddr4-2666"):
        model = load(name).override("link.kind=cxl")
        assert "link.request_latency = 160000" in model.export().splitlines()


def test_a_key_of_an_absent_link_names_the_key_that_it_needs() -> None:
    with pytest.raises(InputError, match=r"found link\.slot in a model with link\.kind = 'none'"):
        load_target("model:optane-100,link.slot=1ns")


def test_an_error_in_a_model_file_names_its_line(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text('machine = "dram"\n[link]\nkind = "cxl"\nslot = "0 ps"\n')
    with pytest.raises(InputError, match=r"m\.toml:4: .*link\.slot"):
        load(str(file))


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            "optane-100,link.place=far",
            "found link.place in a model with link.kind = 'none', expected link.kind = 'cxl' or "
            "'numa', or no such key",
        ),
        (
            "cxl-expander,link.place=far",
            "found link.place = far with near.kind = none, expected memory, there being no near "
            "memory",
        ),
        (
            "cxl-expander,link.directory.kept=memory",
            "found link.directory.kept = memory with link.kind = cxl, expected none: only another "
            "socket's memory keeps one there",
        ),
        (
            "optane-100-remote,link.directory.kept=none,link.directory.seen=0.5",
            "found link.directory.seen = 0.5 with link.directory.kept = none, expected 0, there "
            "being no directory that could have seen it",
        ),
        (
            "optane-100-remote,link.directory.kept=none,link.directory.latency=5ns",
            "found link.directory.latency with link.directory.kept = none, expected "
            "link.directory.kept = memory or no such key",
        ),
    ],
)
def test_a_link_to_nothing_is_refused_in_one_line(target: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        load_target(f"model:{target}")
    assert str(refused.value).partition(": ")[2] == message


def test_a_preset_of_the_other_socket_differs_in_its_link_alone() -> None:
    here, there = load("optane-100").values, load("optane-100-remote").values
    assert {key for key in there if key not in here or there[key].value != here[key].value} == {
        key for key in there if key.startswith("link.")
    }
