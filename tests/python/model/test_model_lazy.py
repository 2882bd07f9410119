"""A Lazy cache in a model file: what cannot be is refused in one line, before anything runs."""

from __future__ import annotations

import pytest

from conftest import Run
from nearfar.errors import InputError
from nearfar.model import load_target

LAZY = "optane-100,nvdimm.lazy.enabled=true"


def test_presets_have_no_lazy_cache() -> None:
    for preset in ("optane-100", "optane-200", "nvdimm"):
        assert load_target(f"model:{preset}").values["nvdimm.lazy.enabled"].value is False


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            "nvdimm.wear.writes=0",
            "found nvdimm.wear.writes = 0 with nvdimm.lazy.enabled = true, expected 1 or more: "
            "a Lazy cache admits lines by the records of wear-levelling",
        ),
        (
            "nvdimm.lazy.lz2.entry=512B",
            "found nvdimm.lazy.lz2.entry = 512 B with nvdimm.media.access = 256 B, expected at "
            "most nvdimm.media.access",
        ),
        (
            "nvdimm.lazy.lz1.size=4KiB",
            "found nvdimm.lazy.lz1.size = 4 KiB with nvdimm.lazy.lz2.size = 2 KiB, expected "
            "nvdimm.lazy.lz2.size to be at least nvdimm.lazy.lz1.size",
        ),
        (
            "nvdimm.lazy.lz1.size=100B",
            "found nvdimm.lazy.lz1.size = 100 B, expected a multiple of 64 B",
        ),
        ("nvdimm.lazy.priority=age", "expected rate, count"),
        ("nvdimm.lazy.threshold=2", "nvdimm.lazy.threshold"),
        ("nvdimm.lazy.treshold=0.1", "did you mean nvdimm.lazy.threshold?"),
    ],
)
def test_a_lazy_cache_that_cannot_be_is_refused_in_one_line(overrides: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        load_target(f"model:{LAZY},{overrides}")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_key_of_a_lazy_cache_that_is_off_is_refused() -> None:
    with pytest.raises(InputError, match=r"nvdimm\.lazy\.enabled = true or no such key"):
        load_target("model:optane-100,nvdimm.lazy.lz2.size=4KiB")


def test_the_command_refuses_it_with_status_2(nearfar: Run) -> None:
    words = ("measure", f"model:{LAZY},nvdimm.wear.writes=0", "overwrite", "--writes", "10")
    status, out, error = nearfar(*words)
    assert (status, out) == (2, "")
    assert error.count("\n") == 1
