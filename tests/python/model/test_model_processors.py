"""Processors as data: what `models/parts` holds, and how one is put in front of a memory."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from nearfar import resources
from nearfar.errors import InputError
from nearfar.model import Model, describe_processor, load, load_target, presets, processors
from nearfar.model.resolve import BY_DEFAULT, OVERRIDE_SOURCE
from nearfar.model.schema import KEYS

FAMILIES = (
    "cascade-lake",
    "ice-lake-sp",
    "sapphire-rapids",
    "skylake-sp",
    "zen-2",
    "zen-3",
    "zen-4",
)
# Of each key a processor says something; these say how it is used or what it lacks.
CHOICES = (
    "cpu.core.kind",
    "cpu.core.wrong_path",
    "cpu.caches",
    "cpu.clwb_keeps",
    "cpu.page",
    "cpu.prefetch",
    "cpu.pretranslation",
    "cpu.table.place",
    "cpu.tlb.directory",
)


def part(name: str) -> Path:
    return Path(str(resources.folder("models").joinpath("parts", f"{name}.toml")))


def behind(memory: str, processor: str) -> Model:
    return load_target(f"model:{memory},processor={processor}")


def test_the_families_that_servers_have_come_with_nearfar() -> None:
    assert processors() == list(FAMILIES)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_processor_is_a_model_by_itself_and_describes_itself(name: str) -> None:
    assert load(part(name)).description == describe_processor(name) != ""


@pytest.mark.parametrize("name", FAMILIES)
def test_every_constant_of_a_processor_names_its_source(name: str) -> None:
    given = load(part(name)).given
    assert [key for key, entry in given.items() if not entry.source] == []


@pytest.mark.parametrize("name", FAMILIES)
def test_a_processor_leaves_no_constant_to_the_schemas_default(name: str) -> None:
    model = load(part(name))
    left = [
        key
        for key, entry in model.values.items()
        if key.startswith("cpu.") and not key.startswith(CHOICES) and entry.source == BY_DEFAULT
    ]
    assert left == []


@pytest.mark.parametrize("name", [one for one in FAMILIES if one != "cascade-lake"])
def test_a_source_of_one_processor_is_never_that_of_all_its_keys(name: str) -> None:
    """Citing one source for everything would hide what is assumed."""
    sources = tomllib.loads(part(name).read_text("utf-8"))["sources"]
    assert "cpu" not in sources
    assert any(text.startswith("assumed") for text in sources.values())


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("memory", ["ddr5-4800", "optane-100", "cxl-expander"])
def test_a_processor_can_be_put_in_front_of_any_memory(memory: str, name: str) -> None:
    model = behind(memory, name)
    alone, before = load(part(name)), load(memory)
    for key in KEYS:
        if key in model.values:
            expected = alone if key.startswith("cpu.") else before
            assert model[key] == expected[key], key


def test_a_model_file_names_its_processor(tmp_path: Path) -> None:
    file = tmp_path / "zen.toml"
    file.write_text('base = "ddr4-3200"\nprocessor = "zen-3"\nchannels = 2\n')
    model = load(file)
    assert (model["machine"], model["channels"], model["cpu.rob"]) == ("dram", 2, 256)
    assert model.hash() == behind("ddr4-3200", "zen-3").override(channels=2).hash()


def test_what_a_file_says_itself_stands_above_its_processor(tmp_path: Path) -> None:
    file = tmp_path / "zen.toml"
    file.write_text('base = "ddr4-3200"\nprocessor = "zen-3"\n[cpu]\ncores = 4\n')
    assert (load(file)["cpu.cores"], load(file)["cpu.rob"]) == (4, 256)


def test_a_processor_may_be_a_file_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "core.toml").write_text('processor = "zen-2"\n[cpu]\nrob = 200\n')
    file = tmp_path / "machine.toml"
    file.write_text('base = "ddr4-3200"\nprocessor = "./core.toml"\n')
    assert (load(file)["cpu.rob"], load(file)["cpu.cores"]) == (200, 4)


def test_overrides_of_a_target_stand_above_its_processor_wherever_they_are() -> None:
    for text in ("cpu.cores=4,processor=zen-3", "processor=zen-3,cpu.cores=4"):
        model = load_target(f"model:ddr4-3200,{text}")
        assert (model["cpu.cores"], model["cpu.rob"]) == (4, 256)
        assert model.values["cpu.cores"].source == OVERRIDE_SOURCE


def test_a_misspelt_processor_is_one_line_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found no processor 'zen3', .*did you mean zen-3\?$"):
        behind("ddr4-3200", "zen3")
    file = tmp_path / "m.toml"
    file.write_text('base = "ddr4-3200"\nprocessor = "zen3"\n')
    with pytest.raises(InputError, match=r"m\.toml:2: processor: found no processor 'zen3'"):
        load(file)
    file.write_text('base = "ddr4-3200"\nprocessor = "./none.toml"\n')
    with pytest.raises(InputError, match=r"m\.toml:2: processor: .*expected an existing file"):
        load(file)


def test_a_processor_is_no_memory() -> None:
    assert not set(FAMILIES) & set(presets())
