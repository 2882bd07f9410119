"""Overrides, aliases, targets, export: what a model is made into and read as."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.errors import InputError
from nearfar.model import load, load_target, presets
from nearfar.model.key import Key, Kind
from nearfar.model.schema import KEYS


def exported(text: str) -> dict[str, str]:
    """The export as the C++ reader splits it."""
    return dict(line.split(" = ", 1) for line in text.splitlines())


def test_an_override_makes_a_new_model_and_leaves_the_old() -> None:
    model = load("optane-100")
    before = model.export()
    changed = model.override("imc.interleave=8 KiB", {"nvdimm.rmw.entries": 128}, channels=6)
    assert model.export() == before
    assert changed["imc.interleave"] == 8192
    assert changed["nvdimm.buffer.1.entries"] == 128
    assert changed["channels"] == 6
    assert changed.name == "optane-100,imc.interleave=8 KiB,nvdimm.rmw.entries=128,channels=6"


def test_a_model_cannot_be_changed() -> None:
    model = load("optane-100")
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.name = "mine"  # type: ignore[misc]
    with pytest.raises(TypeError):
        model.values["channels"] = model.values["seed"]  # type: ignore[index]


def test_a_target_overrides_keys() -> None:
    model = load_target("model:optane-100,channels=6,nvdimm.rmw.entries=128")
    by_hand = load("optane-100").override({"channels": 6, "nvdimm.rmw.entries": 128})
    assert model.export() == by_hand.export()
    assert model.name == "optane-100,channels=6,nvdimm.rmw.entries=128"


def test_a_target_names_a_file(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text("base = 'optane-100'\nchannels = 2\n")
    assert load_target(f"model:{file}")["channels"] == 2
    assert load_target(f"model:{file},channels=3")["channels"] == 3


def test_a_file_may_be_based_on_a_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "a.toml").write_text("base = 'ddr4-3200'\nchannels = 2\ndram.page = 'closed'\n")
    (tmp_path / "below" / "b.toml").write_text("base = '../a.toml'\nchannels = 3\n")
    model = load(tmp_path / "below" / "b.toml")
    assert (model["channels"], model["dram.page"], model["dram.clock"]) == (3, "closed", 625)


def test_a_source_vouches_only_for_the_number_it_stands_beside(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text("base = 'optane-100'\nnvdimm.wear.stall = '60 us'\n")
    model = load(file)
    assert model.values["nvdimm.wear.stall"].source == ""
    assert (
        model.values["nvdimm.wear.writes"].source
        == load("optane-100").values["nvdimm.wear.writes"].source
    )
    file.write_text(file.read_text() + "[sources]\n'nvdimm.wear' = 'NVLeak'\n")
    assert load(file).values["nvdimm.wear.stall"].source == "NVLeak"


def test_the_longest_beginning_of_a_key_gives_its_source(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text(
        "base = 'optane-100'\nnvdimm.ait = {entries = 8192, ways = 8}\n"
        "[sources]\nnvdimm = 'a'\n'nvdimm.ait' = 'b'\n'nvdimm.buffer.2.ways' = 'c'\n"
    )
    values = load(file).values
    assert values["nvdimm.buffer.2.entries"].source == "b"
    assert values["nvdimm.buffer.2.ways"].source == "c"


@pytest.mark.parametrize("alias", ["nvdimm.rmw", "nvdimm.ait"])
def test_an_alias_is_the_buffer_itself(alias: str) -> None:
    buffer = {"nvdimm.rmw": "nvdimm.buffer.1", "nvdimm.ait": "nvdimm.buffer.2"}[alias]
    model = load("optane-100")
    for name in ("entries", "entry", "ways", "policy", "latency"):
        assert model[f"{alias}.{name}"] == model[f"{buffer}.{name}"]
    changes = [f"{alias}.entries=512", f"{buffer}.entries=512"]
    assert model.override(changes[0]).export() == model.override(changes[1]).export()
    with pytest.raises(InputError, match=f"found {buffer}.entries twice"):
        model.override(*changes)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("host", "this machine can be measured and probed; what is asked here needs a model"),
        ("host:0", "needs a model"),
        ("", "found target '', expected model:NAME"),
        ("model:", "expected a model after 'model:'"),
        ("model:,channels=6", "expected a model after 'model:'"),
        ("modle:optane-100", "expected model:NAME or .*did you mean model:optane-100"),
        ("optane-100", "did you mean model:optane-100"),
        ("optane-100,channels=6", "did you mean model:optane-100,channels=6"),
        ("./my.toml", r"did you mean model:\./my\.toml"),
        ("model:optane-10", "did you mean optane-100"),
        ("model:optane-100,", "found '', expected 'key=value'"),
        ("model:optane-100,channels", "found 'channels', expected 'key=value'"),
        ("model:optane-100,channels=", "found '', expected a whole number"),
        ("model:optane-100,channels=9", "optane-100,channels=9: found 9, expected 1 to 8"),
        ("model:optane-100,channels=1_0", "found '1_0', expected a whole number"),
        ("model:optane-100,channels=six", "found 'six', expected a whole number"),
        ("model:optane-100,chanels=6", "unknown key 'chanels'.*did you mean channels"),
        ("model:optane-100,imc.interleave=4096", "found '4096' without a unit"),
        ("model:optane-100,nvdimm.rmw.ways=48", r"nvdimm\.rmw\.ways=48: found .* multiple of"),
        ("model:optane-100,channels=2,channels=3", "found channels twice, after 'channels=2'"),
        ("model:ddr4-2666,nvdimm.lsq.lines=8", "in a machine of kind 'dram'"),
        ("model:/dev", "found a folder"),
    ],
)
def test_a_wrong_target_is_one_clear_line(target: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_target(target)
    assert "\n" not in str(caught.value)


def test_an_override_in_python_needs_units_too() -> None:
    with pytest.raises(InputError, match="found 4096, expected a size such as '16 KiB'"):
        load("optane-100").override({"imc.interleave": 4096})


def test_several_overrides_are_judged_together() -> None:
    """Neither half of this change is possible alone."""
    model = load("optane-100").override("nvdimm.rmw.entries=48", "nvdimm.rmw.ways=48")
    assert model["nvdimm.buffer.1.ways"] == 48


@pytest.mark.parametrize("name", presets())
def test_an_export_has_every_value_once_in_base_units(name: str) -> None:
    model = load(name)
    lines = exported(model.export())
    assert len(lines) == len(model.values) == len(model.export().splitlines())
    for entry in model.values.values():
        text = lines[entry.key.exported_name]
        if entry.key.kind in (Kind.CHOICE, Kind.FIELDS):
            assert text == entry.value
        elif entry.key.kind is Kind.FLAG:
            assert text == ("true" if entry.value else "false")
        elif entry.key.kind is Kind.REAL:
            assert float(text) == entry.value
        else:
            assert text == str(int(entry.value))


def test_an_export_has_the_expected_text() -> None:
    lines = exported(load_target("model:optane-100,nvdimm.dram.clock=2400 MT/s").export())
    assert lines["nvdimm.dram.clock_ps"] == "833"
    assert lines["imc.interleave"] == "4096"
    assert lines["nvdimm.power_budget"] == "15000"
    assert lines["nvdimm.dram.refresh.enabled"] == "true"
    assert lines["nvdimm.dram.mapping"] == "row-rank-bank-column-bank_group"


def test_the_hash_is_that_of_the_machine_and_not_of_its_spelling(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text("base = 'optane-100'\n[imc]\ninterleave = '4096 B'\n")
    model = load("optane-100")
    assert load(tmp_path / "m.toml").hash() == model.hash()
    assert model.override("imc.interleave=8 KiB").hash() != model.hash()


def test_an_export_is_the_same_in_every_process() -> None:
    code = "from nearfar.model import load; print(load('optane-100').hash())"
    package = Path(__file__).resolve().parents[3] / "python"
    hashes = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": str(package), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert hashes == {load("optane-100").hash()}


def test_the_tree_nests_by_dots() -> None:
    tree = load("optane-100").tree()
    assert tree["nvdimm"]["buffer"]["1"]["entry"] == 256
    assert tree["imc"]["wpq"]["lines"] == 8


def values_of(key: Key) -> st.SearchStrategy[object]:
    """Valid values of a key, as base units."""
    if key.kind is Kind.CHOICE:
        return st.sampled_from(key.choices)
    if key.kind is Kind.FLAG:
        return st.booleans()
    assert key.low is not None
    assert key.high is not None
    if key.kind is Kind.REAL:
        return st.floats(key.low, key.high)
    if key.power_of_two:
        low, high = int(key.low).bit_length(), int(key.high).bit_length()
        return st.integers(max(low, 1), high).map(lambda bits: 1 << (bits - 1))
    return st.integers(int(key.low), int(key.high))


@given(st.data())
def test_a_value_written_with_its_unit_reads_back(data: st.DataObject) -> None:
    key = data.draw(st.sampled_from([k for k in KEYS.values() if k.kind is not Kind.FIELDS]))
    value = data.draw(values_of(key))
    assert isinstance(value, (int, float, str))
    text = key.format(value)
    assert key.read_text(text) == value


@given(st.sampled_from(list(KEYS.values())), st.text(max_size=12))
def test_any_text_is_a_value_of_a_key_or_refused_in_words(key: Key, text: str) -> None:
    try:
        value = key.read_text(text)
    except ValueError as error:
        words = str(error)
    else:
        words = "found a value, expected to read back"
        assert key.read_text(key.format(value)) == value
    assert words.startswith("found ")
    assert ", expected " in words
