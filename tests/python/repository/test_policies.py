"""A policy is named once: in the core's registry, beside its own file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nearfar import _lists
from nearfar.model.schema.machine import KEYS

ROOT = Path(__file__).resolve().parents[3]
CORE = ROOT / "core"
REGISTRY = CORE / "policy" / "registry.h"
SOURCES = {
    file: file.read_text(encoding="utf-8")
    for file in sorted([*CORE.rglob("*.cpp"), *CORE.rglob("*.h")])
}
# By family: the list in the registry, and the folder of its policies.
FAMILIES = {
    "NEARFAR_REPLACEMENT_POLICIES": "replacement",
    "NEARFAR_PLACEMENT_POLICIES": "placement",
    "NEARFAR_ORACLES": "oracle",
}


def listed(family: str) -> list[tuple[str, str]]:
    """Names and the functions that make them, as the registry has them."""
    text = SOURCES[REGISTRY]
    found = re.search(rf"#define {family}\(policy\)(.*?[^\\])\n", text, re.DOTALL)
    assert found is not None
    return re.findall(r'policy\("([^"]+)", (\w+)\)', found[1])


EVERY = [
    pytest.param(family, name, make, id=name)
    for family in FAMILIES
    for name, make in listed(family)
]


@pytest.mark.parametrize(("family", "name", "make"), EVERY)
def test_a_policy_is_two_files_its_own_and_its_line_of_the_registry(
    family: str, name: str, make: str
) -> None:
    files = [file for file, text in SOURCES.items() if re.search(rf"\b{make}\b", text)]
    own = [file for file in files if file != REGISTRY]
    assert REGISTRY in files
    assert [file.parent for file in own] == [CORE / "policy" / FAMILIES[family]], name
    assert SOURCES[REGISTRY].count(f'"{name}", {make}') == 1


def test_python_reads_the_names_of_policies_from_the_core() -> None:
    for family, names in (
        ("NEARFAR_REPLACEMENT_POLICIES", _lists.POLICIES),
        ("NEARFAR_PLACEMENT_POLICIES", _lists.PLACEMENT_POLICIES),
        ("NEARFAR_ORACLES", _lists.ORACLES),
    ):
        assert [name for name, _ in listed(family)] == list(names)


def test_models_know_the_kinds_of_machines_that_the_core_builds() -> None:
    (kind,) = (key for key in KEYS if key.name == "machine")
    assert set(kind.choices) == {"dram", "nvdimm"} == set(_lists.MACHINE_KINDS)
