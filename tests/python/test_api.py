"""The functions a script calls, and that asking for none of them costs nothing."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import nearfar
from nearfar import Chase, Overwrite, Stream, _core

PACKAGE = Path(nearfar.__file__).parent


def loaded_by(statement: str) -> set[str]:
    """The modules of a fresh interpreter after `statement`."""
    script = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    out = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    return set(out.split())


@pytest.mark.parametrize("module", ["nearfar", "nearfar.cli", "nearfar.cli.main"])
def test_importing_loads_neither_numpy_nor_the_core(module: str) -> None:
    loaded = loaded_by(f"import {module}")
    assert module in loaded
    assert not loaded & {"numpy", "nearfar._core", "zstandard"}


@pytest.mark.parametrize("name", nearfar.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(nearfar, name) is not None
    assert name in dir(nearfar)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'mesure'"):
        nearfar.mesure  # noqa: B018


def test_a_model_is_loaded_changed_and_measured() -> None:
    model = nearfar.load_model("optane-100").override({"nvdimm.rmw.entries": 128}, channels=6)
    result = nearfar.measure(model, Chase(region="4KiB,16KiB", op="ntload", lines=256))
    assert [point.region_bytes for point in result.points] == [4096, 16384]
    assert result.target.spec == "model:optane-100,nvdimm.rmw.entries=128,channels=6"
    assert all(point.ns_per_line > 50 for point in result.points)


def test_the_function_can_be_called_whatever_was_imported_before() -> None:
    loaded_by(
        "import nearfar.measure\nfrom nearfar.measure import Chase\nimport nearfar\n"
        "r = nearfar.measure('model:optane-100', Chase(lines=64))\n"
        "assert r.points[0].lines == 64"
    )


@pytest.mark.parametrize(
    "pattern",
    [
        Chase(region="16KiB", op="ntload,ntstore,raw", lines=2048),
        Overwrite(writes=500),
        Stream(op="ntstore", stride="random", threads=(1, 2), lines=2048),
    ],
    ids=lambda pattern: pattern.kind,
)
def test_a_seed_decides_everything_random(pattern: Chase | Overwrite | Stream) -> None:
    import dataclasses

    def elapsed(seed: int) -> list[float]:
        again = dataclasses.replace(pattern, seed=seed)
        return [p.elapsed_ns for p in nearfar.measure("model:optane-100", again).points]

    assert elapsed(1) == elapsed(1)
    if pattern.kind != "overwrite":  # nothing of it is random but the wear, which comes later
        assert elapsed(1) != elapsed(2)


def test_the_stub_names_exactly_what_the_core_has() -> None:
    stub = (PACKAGE / "_core.pyi").read_text()
    public = {name for name in dir(_core) if not name.startswith("_")}
    assert {
        name for name in public if f"def {name}(" not in stub and f"class {name}" not in stub
    } == set()
    for name in ("chase", "overwrite", "stream", "contention", "version", "Replay"):
        assert name in public


def test_the_versions_of_the_two_halves_agree() -> None:
    assert _core.version() == nearfar.__version__


def test_bad_settings_raise_the_input_error_of_this_package() -> None:
    with pytest.raises(nearfar.InputError):
        _core.overwrite("", region=256, writes=1, op="ntstore", fence_kind="mfence", seed=1)


def test_every_public_function_says_what_it_raises() -> None:
    for function in (nearfar.load_model, nearfar.validate, nearfar.replay, nearfar.load_result):
        assert "InputError" in (inspect.getdoc(function) or ""), function
