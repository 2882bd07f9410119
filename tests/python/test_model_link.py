"""A link is in a model or it is not, and a key of one that is not there is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.errors import InputError
from nearfar.model import load, load_target


def test_no_link_unless_a_model_has_one() -> None:
    keys = [key for key in load("optane-100").values if key.startswith("link.")]
    assert keys == ["link.kind"]


def test_a_link_stands_in_front_of_any_machine() -> None:
    for name in ("optane-100", "ddr4-2666"):
        model = load(name).override("link.kind=cxl")
        assert "link.request_latency = 160000" in model.export().splitlines()


def test_a_key_of_a_link_that_is_not_there_names_what_it_needs() -> None:
    with pytest.raises(InputError, match=r"found link\.slot in a model with link\.kind = 'none'"):
        load_target("model:optane-100,link.slot=1ns")


def test_a_model_file_is_told_its_line(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text('machine = "dram"\n[link]\nkind = "cxl"\nslot = "0 ps"\n')
    with pytest.raises(InputError, match=r"m\.toml:4: .*link\.slot"):
        load(str(file))
