"""Whatever is wrong in a model file is said in one line: file, line, found, expected."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nearfar import resources
from nearfar.errors import InputError
from nearfar.model import load
from nearfar.model.schema import KEYS


def message_for(tmp_path: Path, text: str | bytes) -> str:
    """The error of a file with this text, with the folder's name taken out."""
    file = tmp_path / "m.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as caught:
        load(file)
    message = str(caught.value)
    assert "\n" not in message
    assert caught.value.exit_code == 2
    return message.replace(f"{tmp_path}/", "")


OPTANE = 'base = "optane-100"\n'
SPREAD = KEYS["nvdimm.wear.spread"]
DRAM = 'base = "ddr4-2666"\n'
DDR5 = 'base = "ddr5-4800"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # standards
        (
            DRAM + "[dram]\nsubchannels = 2",
            "m.toml:3: found dram.subchannels in a DDR4 channel, "
            "expected a speed bin of DDR5 or no such key",
        ),
        (
            DRAM + "[dram.refresh]\ngranularity = '2x'",
            "m.toml:3: found dram.refresh.granularity in a DDR4 channel, "
            "expected a speed bin of DDR5 or no such key",
        ),
        (
            DRAM + "[dram]\nstandard = 'DDR5'",
            "m.toml:3: found dram.standard = DDR5 with dram.speed_bin = DDR4-2666V, "
            "expected dram.speed_bin to be one of DDR5-4800A, DDR5-4800B, "
            "DDR5-4800C, DDR5-5600A, DDR5-5600B, DDR5-5600C",
        ),
        (
            DDR5 + "[dram]\nsubchannels = 3",
            "m.toml:3: dram.subchannels: found 3, expected 1 to 2",
        ),
        (
            DDR5 + "[dram]\nburst_length = 8",
            "m.toml:3: found dram.burst_length = 8 with dram.standard = DDR5, "
            "expected 16: a line in one burst",
        ),
        (
            DDR5 + "[dram]\ndensity_gbit = 4",
            "m.toml:3: found dram.density_gbit = 4 with dram.standard = DDR5, "
            "expected one of 8, 16, 32",
        ),
        (
            DDR5 + "[dram]\nranks = 4",
            "m.toml:3: found dram.ranks = 4 with dram.bank_groups = 8, dram.banks = 4, "
            "expected at most 64 banks in all ranks",
        ),
        (
            DDR5 + "[dram.refresh]\npostpone = 5",
            "m.toml:3: found dram.refresh.postpone = 5 with dram.refresh.granularity = 1x, "
            "expected at most 4, as JESD79-5 says",
        ),
        (
            DDR5 + "[dram.refresh]\nbanks = 'same'",
            "m.toml:3: found dram.refresh.banks = same with dram.refresh.granularity = 1x, "
            "expected dram.refresh.granularity to be 2x, of which JESD79-5 has same-bank refresh",
        ),
        (
            DRAM + "[dram.refresh]\nbanks = 'same'",
            "m.toml:3: found dram.refresh.banks in a DDR4 channel, "
            "expected a speed bin of DDR5 or no such key",
        ),
        # names
        (
            OPTANE + "[nvdimm.lsq]\nlins = 64",
            "m.toml:3: found unknown key 'nvdimm.lsq.lins', "
            "expected one of `nearfar model schema`; did you mean nvdimm.lsq.lines?",
        ),
        (
            OPTANE + "[nvdimm.rwm]\nentries = 64",
            "m.toml:2: found unknown key 'nvdimm.rwm', "
            "expected one of `nearfar model schema`; did you mean nvdimm.rmw?",
        ),
        (
            OPTANE + "chanels = 2",
            "m.toml:2: found unknown key 'chanels', "
            "expected one of `nearfar model schema`; did you mean channels?",
        ),
        (
            OPTANE + "\n\n[nvdimm.lsqq]\n",
            "m.toml:4: found unknown key 'nvdimm.lsqq', "
            "expected one of `nearfar model schema`; did you mean nvdimm.lsq?",
        ),
        (
            OPTANE + "interleave = '4 KiB'",
            "m.toml:2: found unknown key 'interleave', "
            "expected one of `nearfar model schema`; did you mean imc.interleave?",
        ),
        (OPTANE + "nvdimm = 3", "m.toml:2: nvdimm: found 3, expected a table [nvdimm]"),
        (
            OPTANE + "[[nvdimm.lsq]]\nlines = 64",
            "m.toml:2: nvdimm.lsq: found an array, expected a table [nvdimm.lsq]",
        ),
        # types
        (
            OPTANE + "channels = '6'",
            "m.toml:2: channels: found '6', expected a whole number",
        ),
        (OPTANE + "channels = 6.0", "m.toml:2: channels: found 6.0, expected a whole number"),
        (OPTANE + "channels = true", "m.toml:2: channels: found true, expected a whole number"),
        (OPTANE + "channels = [6]", "m.toml:2: channels: found an array, expected a whole number"),
        (
            OPTANE + "[channels]\nn = 6",
            "m.toml:2: channels: found a table, expected a whole number",
        ),
        (
            OPTANE + "channels = 1979-05-27",
            "m.toml:2: channels: found a date, expected a whole number",
        ),
        (
            DRAM + "[dram.refresh]\nenabled = 1",
            "m.toml:3: dram.refresh.enabled: found 1, expected true or false",
        ),
        (
            OPTANE + "imc.interleave = 4096",
            "m.toml:2: imc.interleave: found 4096, expected a size such as '16 KiB'",
        ),
        # units
        (
            OPTANE + "imc.interleave = '4 ns'",
            "m.toml:2: imc.interleave: found unit 'ns', expected a size in B, KiB, MiB, GiB, TiB",
        ),
        (
            OPTANE + "imc.interleave = '4 kib'",
            "m.toml:2: imc.interleave: found unit 'kib', "
            "expected a size in B, KiB, MiB, GiB, TiB; did you mean '4 KiB'?",
        ),
        (
            OPTANE + "[nvdimm.media]\nread_latency = '137'",
            "m.toml:3: nvdimm.media.read_latency: found '137' without a unit, "
            "expected a time such as '137 ns'",
        ),
        # ranges
        (OPTANE + "channels = 9", "m.toml:2: channels: found 9, expected 1 to 8"),
        (OPTANE + "channels = 0", "m.toml:2: channels: found 0, expected 1 to 8"),
        (OPTANE + "channels = -1", "m.toml:2: channels: found -1, expected 1 to 8"),
        (
            OPTANE + "[nvdimm.rmw]\nentry = '0 B'",
            "m.toml:3: nvdimm.rmw.entry: found '0 B', expected 64 B to 1 MiB, a power of two",
        ),
        (
            OPTANE + "[nvdimm.rmw]\nentry = '-256 B'",
            "m.toml:3: nvdimm.rmw.entry: found '-256 B', expected 64 B to 1 MiB, a power of two",
        ),
        (
            OPTANE + "imc.interleave = '96 B'",
            "m.toml:2: imc.interleave: found '96 B', expected 64 B to 1 GiB, a power of two",
        ),
        (
            OPTANE + "[nvdimm.wear]\nspread = nan",
            f"m.toml:3: nvdimm.wear.spread: found nan, expected {SPREAD.range_text()}",
        ),
        (
            OPTANE + "nvdimm.rmw.policy = 'lur'",
            "m.toml:2: nvdimm.rmw.policy: found 'lur', expected fifo, lru, random; "
            "did you mean lru?",
        ),
        # combinations
        (
            OPTANE + "nvdimm.rmw.entries = 64\nnvdimm.rmw.ways = 48",
            "m.toml:2: found nvdimm.buffer.1.entries = 64 with nvdimm.buffer.1.ways = 48, "
            "expected a multiple of nvdimm.buffer.1.ways",
        ),
        (
            OPTANE + "nvdimm.ait.ways = 48",
            "m.toml:2: found nvdimm.buffer.2.ways = 48 with nvdimm.buffer.2.entries = 4096, "
            "expected nvdimm.buffer.2.entries to be a multiple of nvdimm.buffer.2.ways",
        ),
        (
            OPTANE + "nvdimm.rmw.ways = 128",
            "m.toml:2: found nvdimm.buffer.1.ways = 128 with nvdimm.buffer.1.entries = 64, "
            "expected at most nvdimm.buffer.1.entries",
        ),
        (
            DRAM + "[dram.queue]\nwrite_high = 8\nwrite_low = 8",
            "m.toml:4: found dram.queue.write_low = 8 with dram.queue.write_high = 8, "
            "expected less than dram.queue.write_high",
        ),
        (
            DRAM + "[dram.queue]\nwrite = 8",
            "m.toml:3: found dram.queue.write = 8 with dram.queue.write_high = 48, "
            "expected dram.queue.write_high to be at most dram.queue.write",
        ),
        (
            OPTANE + "imc.interleave = '64 B'",
            "m.toml:2: found imc.interleave = 64 B with nvdimm.buffer.1.entry = 256 B, "
            "expected a multiple of nvdimm.buffer.1.entry",
        ),
        (
            OPTANE + "capacity = '1048577 B'",
            "m.toml:2: found capacity = 1048577 B with nvdimm.buffer.2.entry = 4 KiB, "
            "expected a multiple of nvdimm.buffer.2.entry",
        ),
        (
            DRAM + "capacity = '4 GiB'",
            "m.toml:2: found capacity = 4 GiB, expected 8 GiB, as the geometry of dram gives",
        ),
        (
            DRAM + "dram.timing.rc = 20",
            "m.toml:2: found dram.timing.rc = 20 with dram.timing.ras = 43, dram.timing.rp = 19, "
            "expected at least dram.timing.ras + dram.timing.rp",
        ),
        (
            DRAM + "dram.mapping = 'row-rank-bank-column'",
            "m.toml:2: dram.mapping: found 'row-rank-bank-column', expected an order of row, rank, "
            "bank_group, bank, and column or column_high and column_low",
        ),
        (
            DRAM + "dram.mapping = 'row-rank-bank-column-bankgroup'",
            "m.toml:2: dram.mapping: found 'bankgroup' in the order, expected row, rank, "
            "bank_group, bank, and column or column_high and column_low; "
            "did you mean bank_group?",
        ),
        (
            DRAM + "[nvdimm.lsq]\nlines = 64",
            "m.toml:3: found nvdimm.lsq.lines in a machine of kind 'dram', "
            "expected machine = 'nvdimm' or no such key",
        ),
        (
            OPTANE + "[nvdimm]\nait.fill = 'sector'\ntable.entry = '64 B'\n"
            "dram.density_gbit = 4\ndram.width = 16",
            "m.toml:4: found nvdimm.table.entry = 64 B with nvdimm.buffer.2.entries = 4096, "
            "capacity = 256 GiB, expected a table and buffer (4112 MiB) "
            "that fit the on-DIMM DRAM (2 GiB)",
        ),
        (
            OPTANE + "[nvdimm]\npower_budget = '2 W'\npower_static = '3 W'",
            "m.toml:3: found nvdimm.power_budget = 2 W with nvdimm.power_static = 3 W, "
            "expected more than nvdimm.power_static",
        ),
        # buffer levels
        (
            OPTANE + "[nvdimm.buffer.3]\nentries = 64",
            "m.toml:3: found nvdimm.buffer.3.entries in a DIMM with nvdimm.levels = 2, "
            "expected nvdimm.levels = 3 or no such key",
        ),
        (
            OPTANE + "[nvdimm]\nlevels = 3\nait.fill = 'page'",
            "m.toml:4: found nvdimm.buffer.2.fill in a DIMM with nvdimm.levels = 3, "
            "expected nvdimm.buffer.3.fill, of the level that translates, or no such key",
        ),
        (
            OPTANE + "[nvdimm]\nlevels = 3\nbuffer.2.entries = 3",
            "m.toml:4: found nvdimm.buffer.2.entries = 3 with nvdimm.buffer.2.ways = 16, "
            "expected nvdimm.buffer.2.ways to be at most nvdimm.buffer.2.entries",
        ),
        (
            OPTANE + "[nvdimm]\nlevels = 3\nbuffer.2.entries = 16\nbuffer.2.entry = '512 B'",
            "m.toml:4: found nvdimm.buffer.2.entries = 16 with nvdimm.buffer.2.entry = 512 B, "
            "nvdimm.buffer.1.entries = 64, nvdimm.buffer.1.entry = 256 B, "
            "expected room for all of nvdimm.buffer.1, which it includes",
        ),
        (
            OPTANE + "[nvdimm]\nlevels = 3\nbuffer.3.entry = '2 KiB'",
            "m.toml:4: found nvdimm.buffer.3.entry = 2 KiB with nvdimm.buffer.2.entry = 4 KiB, "
            "expected at least nvdimm.buffer.2.entry",
        ),
        (
            OPTANE + "[nvdimm]\nrmw.entry = '64 B'\nait.entry = '128 B'",
            "m.toml:4: found nvdimm.buffer.2.entry = 128 B with nvdimm.media.access = 256 B, "
            "expected at least nvdimm.media.access",
        ),
        (
            OPTANE + "[nvdimm.rmw]\nentry = '64 B'\nentries = 3\nways = 3",
            "m.toml:4: found nvdimm.buffer.1.entries = 3 with nvdimm.buffer.1.entry = 64 B, "
            "nvdimm.media.access = 256 B, expected enough to hold one nvdimm.media.access",
        ),
        (
            OPTANE + "[nvdimm]\nlevels = 1\nrmw.entry = '8 KiB'\n[imc]\ninterleave = '8 KiB'",
            "m.toml:4: found nvdimm.buffer.1.entry = 8 KiB with nvdimm.wear.block = 4 KiB, "
            "expected nvdimm.wear.block to be a multiple of nvdimm.buffer.1.entry",
        ),
        # a key twice
        (
            OPTANE + "[nvdimm.rmw]\nentries = 64\n[nvdimm.buffer.1]\nentries = 64",
            "m.toml:5: found 'nvdimm.buffer.1.entries', which 'nvdimm.rmw.entries' (line 3) "
            "has given already",
        ),
        # not a model
        (
            "channels = = 2",
            "m.toml:1: found no valid TOML at column 12: Invalid value; expected 'key = value'",
        ),
        (
            "a = 1\nchannels = 2\nchannels = 3",
            "m.toml:3: found no valid TOML at the end: Cannot overwrite a value; "
            "expected 'key = value'",
        ),
        (
            "a = 1\nb = '",
            "m.toml:2: found no valid TOML at the end: Expected \"'\"; expected 'key = value'",
        ),
        ("a = " + "[" * 5000, "m.toml: found values nested too deeply"),
        (b"a = 1\nb = '\xff'", "m.toml:2: found byte 0xff, expected UTF-8 text"),
        # about the file
        (
            "base = 'optane-10'",
            "m.toml:1: base: found no model 'optane-10', expected one of aep-sample, cxl, "
            "cxl-expander, cxl-hybrid, ddr4-2400, ddr4-2666, ddr4-2933, ddr4-3200, ddr5-4800, "
            "ddr5-5600, dram, memory-mode, nvdimm, optane-100, optane-100-remote, optane-200, "
            "optane-memory-mode, optane-tiered, xeon-5218-ddr4-2933, xeon-8460y-ddr5-4800 "
            "or a path to a file; "
            "did you mean optane-100?",
        ),
        ("base = 3", "m.toml:1: base: found 3, expected a string"),
        ("base = './m.toml'", "m.toml:1: base: found './m.toml', which leads back to this file"),
        (
            "base = './no.toml'",
            "m.toml:1: base: found './no.toml', expected a preset or an existing file",
        ),
        (OPTANE + "sources = 1", "m.toml:2: sources: found 1, expected a table"),
        (
            OPTANE + "[sources]\n'nvdimm.medai' = 'x'",
            "m.toml:3: sources: found unknown key 'nvdimm.medai', "
            "expected one of `nearfar model schema`; did you mean nvdimm.media?",
        ),
        (
            OPTANE + "[sources]\n'nvdimm.media' = 1",
            "m.toml:3: sources: nvdimm.media: found 1, expected a string",
        ),
    ],
)
def test_a_wrong_file_is_one_clear_line(tmp_path: Path, text: str | bytes, expected: str) -> None:
    assert message_for(tmp_path, text) == expected


def test_choosing_the_levels_drops_the_keys_of_other_levels_from_a_preset() -> None:
    optane = load("optane-100")
    one, three = (optane.override({"nvdimm.levels": levels}) for levels in (1, 3))
    assert "nvdimm.buffer.2.entries" not in one.values
    assert three["nvdimm.buffer.2.entries"] == optane["nvdimm.buffer.2.entries"]
    assert "nvdimm.buffer.2.fill" not in three.values
    assert three["nvdimm.buffer.3.fill"] == "none"


def test_a_folder_is_no_model_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found a folder, expected a model file"):
        load(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"my\.toml: found no such file"):
        load(f"{tmp_path}/my.toml")


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(InputError, match="that no file can have"):
        load("./\0.toml")


def test_a_file_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    with pytest.raises(InputError, match="Not a directory"):
        load(f"{tmp_path}/f/m.toml")


def test_two_files_based_on_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("base = './b.toml'")
    (tmp_path / "b.toml").write_text("base = './a.toml'")
    with pytest.raises(InputError, match=r"b\.toml:1: base: found './a\.toml', which leads back"):
        load(f"{tmp_path}/a.toml")


def test_an_error_in_a_base_names_the_base(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("base = './b.toml'")
    (tmp_path / "b.toml").write_text("\nchannels = 9")
    with pytest.raises(InputError, match=r"b\.toml:2: channels: found 9, expected 1 to 8"):
        load(tmp_path / "a.toml")


PRESET = resources.folder("models").joinpath("optane-100.toml").read_text("utf-8")
PIECES = st.sampled_from(["'", '"', "[", "]", "{", "}", "=", ".", "\n", "-", "0", "1", "true", "a"])


@given(
    st.lists(st.tuples(st.integers(0, len(PRESET)), st.integers(0, 9), PIECES), max_size=3),
    st.sampled_from(["", "base = 'ddr4-2666'\n", "base = 'optane-100'\n"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_damaged_preset_loads_or_is_refused_in_one_line(
    tmp_path: Path, damage: list[tuple[int, int, str]], base: str
) -> None:
    text = base + PRESET
    for start, length, piece in damage:
        text = text[:start] + piece + text[start + length :]
    file = tmp_path / "m.toml"
    file.write_text(text)
    outcome = "one line"
    try:
        load(file)
    except InputError as error:
        outcome = str(error)
    assert "\n" not in outcome
    assert outcome == "one line" or outcome.startswith(str(file))
