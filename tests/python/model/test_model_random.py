"""Random DIMMs are possible machines, cover their ranges and do what their files say."""

from __future__ import annotations

import random
import struct
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from conftest import Run
from nearfar.model import Model, load
from nearfar.model.key import Plain
from nearfar.model.random.dimm import random_model
from nearfar.model.schema import KEYS
from paper_dimm import paper_loads

KIB = 1024
SEEDS = range(200)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Model]:
    """A model of each seed, read from its file."""
    folder = tmp_path_factory.mktemp("models")
    found = []
    for seed in SEEDS:
        path = folder / f"{seed}.toml"
        path.write_text(random_model(seed), encoding="utf-8")
        found.append(load(path))
    return found


def level_values(model: Model, name: str) -> list[Plain]:
    return [model[f"nvdimm.buffer.{n}.{name}"] for n in range(1, int(model["nvdimm.levels"]) + 1)]


def test_the_same_seed_draws_the_same_dimm_and_another_seed_another() -> None:
    texts = [random_model(seed) for seed in SEEDS]
    assert texts == [random_model(seed) for seed in SEEDS]
    bodies = {
        text.split("\n", 2)[2].replace(f"seed = {seed}", "") for seed, text in enumerate(texts)
    }
    assert len(bodies) == len(texts)


def test_levels_grow_fourfold_and_their_entries_never_shrink(models: list[Model]) -> None:
    for model in models:
        entries, sizes = level_values(model, "entries"), level_values(model, "entry")
        capacities = [int(n) * int(size) for n, size in zip(entries, sizes, strict=True)]
        assert all(lower >= 4 * upper for upper, lower in pairwise(capacities)), model.name
        assert sizes == sorted(sizes, key=int), model.name


def test_every_range_is_reached_and_none_is_left(models: list[Model]) -> None:
    def seen(key: str) -> set[Plain]:
        return {model[key] for model in models}

    assert seen("nvdimm.levels") == {1, 2, 3}
    assert seen("channels") == set(range(1, 7))
    assert seen("imc.interleave") == {n * KIB for n in (1, 2, 4, 8, 16)}
    assert seen("imc.wpq.lines") == set(range(4, 17))
    buffers = [
        dict(zip(("entries", "entry", "ways", "policy"), buffer, strict=True))
        for model in models
        for buffer in zip(
            *(level_values(model, name) for name in ("entries", "entry", "ways", "policy")),
            strict=True,
        )
    ]
    assert {buffer["entry"] for buffer in buffers} == {64 << i for i in range(8)}
    assert {buffer["policy"] for buffer in buffers} == {"fifo", "lru", "random"}
    partly = {buffer["ways"] for buffer in buffers if buffer["ways"] != buffer["entries"]}
    assert partly == set(range(1, 17))
    assert any(int(buffer["ways"]) > 16 for buffer in buffers)
    entries = [int(buffer["entries"]) for buffer in buffers]
    assert (min(entries), max(entries)) == (8, 8192)
    sets = [int(buffer["entries"]) // int(buffer["ways"]) for buffer in buffers]
    assert any(n & (n - 1) for n in sets), "sets need not be a power of two"
    lines = [int(n) for n in seen("nvdimm.lsq.lines")]
    assert 16 <= min(lines) < 24
    assert 120 < max(lines) <= 128
    assert all(model["nvdimm.lsq.high"] == int(model["nvdimm.lsq.lines"]) // 2 for model in models)
    writes = [int(n) for n in seen("nvdimm.wear.writes")]
    assert min(writes) == 0
    assert 2000 <= min(n for n in writes if n) < 2500
    assert 18_000 < max(writes) <= 20_000
    assert seen("nvdimm.wear.block") == {n * KIB for n in (4, 8, 16, 32, 64)}
    assert len(seen("nvdimm.wear.stall")) > 100


def plain(model: Model) -> dict[str, Plain]:
    return {name: entry.value for name, entry in model.values.items()}


def played(model: Model, addresses: list[int], seed: int) -> tuple[Counter[str], list[int]]:
    """Counts of all channels, and the loads' latencies, each with the machine to itself."""
    from nearfar import _core

    delay = 5 << 56 | 20_000_000
    steps = [word for address in addresses for word in (address, delay)]
    words = f"<{len(steps)}Q"
    data = _core.sequence(
        model.export(), steps=struct.pack(words, *steps), outstanding=1, agent="none", seed=seed
    )
    counts: Counter[str] = Counter()
    for name, value in data["counters"].items():
        counts[name.split(".dimm.")[-1]] += value
    issued, done = (struct.unpack(words, data[key])[::2] for key in ("issued_ps", "done_ps"))
    return counts, [end - begin for begin, end in zip(issued, done, strict=True)]


def walks(model: Model, seed: int) -> list[int]:
    """Addresses that fit each level, and none, at random and in turn."""
    draw = random.Random(seed)
    capacities = [
        int(entries) * int(entry)
        for entries, entry in zip(
            level_values(model, "entries"), level_values(model, "entry"), strict=True
        )
    ]
    addresses = []
    for capacity in (capacities[0], *capacities, 3 * capacities[-1]):
        lines = capacity * int(model["channels"]) // 64
        addresses += [64 * draw.randrange(lines) for _ in range(1500)]
        first = draw.randrange(lines)
        addresses += [64 * ((first + i * 3) % lines) for i in range(500)]
    return addresses


@pytest.mark.parametrize("seed", range(30))
def test_hits_in_every_level_are_those_of_replacement_on_paper(
    models: list[Model], seed: int
) -> None:
    model = models[seed]
    addresses = walks(model, seed)
    counts, _ = played(model, addresses, seed)
    expected, _ = paper_loads(plain(model), addresses, seed)
    assert {name: counts[name] for name in expected} == dict(expected)
    assert expected["rmw.hits"] > 0
    assert expected["table.reads"] > 0


@pytest.mark.parametrize("seed", range(30))
def test_each_level_answers_30_ns_later_than_the_one_before(models: list[Model], seed: int) -> None:
    model = models[seed].override({"channels": 1, "nvdimm.dram.refresh.enabled": False})
    addresses = walks(model, seed)
    _, latencies = played(model, addresses, seed)
    _, served = paper_loads(plain(model), addresses, seed)
    best: dict[str, int] = {}
    for level, latency in zip(served, latencies, strict=True):
        best[level] = min(best.get(level, latency), latency)
    in_order = [best[level] for level in ("rmw", "middle", "ait", "table") if level in best]
    assert len(in_order) == int(model["nvdimm.levels"]) + 1
    assert all(lower - upper >= 30_000 for upper, lower in pairwise(in_order)), best


def test_the_command_writes_a_file_that_is_a_target(nearfar: Run, tmp_path: Path) -> None:
    path = str(tmp_path / "dimm.toml")
    assert nearfar("model", "random", "--seed", "4", "-o", path) == (0, "", "")
    assert Path(path).read_text(encoding="utf-8") == random_model(4)
    status, out, _ = nearfar("model", "check", path)
    assert (status, out.split(":")[1].strip()) == (0, "ok")
    status, out, _ = nearfar("model", "random", "--seed", "4")
    assert (status, out) == (0, random_model(4))
    status, out, _ = nearfar("measure", f"model:{path}", "chase", "--region", "4KiB")
    assert status == 0
    assert "4 KiB" in out


@pytest.mark.parametrize("seed", ["-1", "x", "1.5", ""])
def test_a_seed_is_a_whole_number(refused: Run, seed: str) -> None:
    assert f"found '{seed}', expected a whole number" in str(
        refused("model", "random", f"--seed={seed}")
    )


def test_defaults_are_those_of_the_tuned_preset() -> None:
    for name, entry in load("optane-100").values.items():
        key = KEYS[name]
        if name.split(".")[0] in ("cpu", "imc", "nvdimm") and key.default is not None:
            assert key.default == entry.value, name
