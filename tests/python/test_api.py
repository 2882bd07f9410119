"""The functions a script calls, and that asking for none of them costs nothing."""

from __future__ import annotations

import ast
import functools
import inspect
import os
import re
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
        "import nearfar.measuring\nfrom nearfar.measuring import Chase\nimport nearfar\n"
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


def stub_functions() -> dict[str, list[str]]:
    """Every function of the stub, with methods as Class.method, to its parameters."""
    found = {}
    for node in ast.parse((PACKAGE / "_core.pyi").read_text()).body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for function in inside:
            if isinstance(function, ast.FunctionDef):
                arguments = function.args
                names = [argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)]
                found[prefix + function.name] = names
    return found


def stub_keys(kind: str) -> set[str]:
    """The keys of a TypedDict of the stub, with those of what it extends."""
    classes = {
        node.name: node
        for node in ast.parse((PACKAGE / "_core.pyi").read_text()).body
        if isinstance(node, ast.ClassDef)
    }
    own = {
        item.target.id
        for item in classes[kind].body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    }
    bases = [base.id for base in classes[kind].bases if isinstance(base, ast.Name)]
    return own.union(*(stub_keys(base) for base in bases if base in classes))


def test_the_stub_has_the_functions_of_the_core_with_their_parameters() -> None:
    actual = {}
    for name in dir(_core):
        thing = getattr(_core, name)
        if name.startswith("_"):
            continue
        members = [name]
        if isinstance(thing, type):
            own = [member for member in vars(thing) if not member.startswith("__")]
            if hasattr(thing.__init__, "__nb_signature__"):  # some are made by the core alone
                own.append("__init__")
            members = [f"{name}.{member}" for member in own]
        for member in members:
            function = functools.reduce(getattr, member.split("."), _core)
            signature = function.__nb_signature__[0][0]
            actual[member] = re.findall(
                r"(?:^|[(,] ?)(\w+)(?=[:,)])", signature.split("(", 1)[1].rsplit("->")[0].join("()")
            )
    assert actual == stub_functions()


def test_the_stub_has_the_keys_that_the_core_returns() -> None:
    model = nearfar.load_model("optane-100").export()
    (point,) = _core.chase(
        model,
        region=64,
        block=64,
        ops=["ntload"],
        regions="fresh",
        fence="region",
        fence_kind="mfence",
        threads=1,
        lines=64,
        seed=1,
    )
    assert set(point) == stub_keys("PointData")
    overwritten = _core.overwrite(
        model, region=256, writes=2, op="ntstore", fence_kind="mfence", seed=1
    )
    assert set(overwritten) == stub_keys("OverwriteData")
    replay = _core.Replay(
        model,
        name="t",
        format="ramulator",
        base=0,
        pace="trace",
        outstanding=1,
        clock_ps=750,
        trace_clock=False,
        skip=0,
        warm=0,
        run=0,
        frames="",
        drain=True,
        command_trace="",
    )
    replay.feed(b"LD 0x0\n")
    assert set(replay.finish()) == stub_keys("ReplayData")
    summary = _core.TraceSummary(name="t", format="ramulator", base=0)
    assert set(summary.result()) == stub_keys("TraceData")
    assert set(_core.trace_formats()[0]) == stub_keys("TraceFormatData")


def test_the_versions_of_the_two_halves_agree() -> None:
    assert _core.version() == nearfar.__version__


def test_bad_settings_raise_the_input_error_of_this_package() -> None:
    with pytest.raises(nearfar.InputError):
        _core.overwrite("", region=256, writes=1, op="ntstore", fence_kind="mfence", seed=1)


def test_every_public_function_says_what_it_raises() -> None:
    for function in (nearfar.load_model, nearfar.validate, nearfar.replay, nearfar.load_result):
        assert "InputError" in (inspect.getdoc(function) or ""), function


@pytest.mark.skipif(not hasattr(_core, "HostMemory"), reason="the kernels are for x86-64")
def test_the_stub_has_the_keys_that_the_kernels_return() -> None:
    memory = _core.HostMemory(1 << 16)
    cpu = min(os.sched_getaffinity(0))
    chase = memory.chase(
        region=4096,
        block=64,
        stride=64,
        op="load",
        repeat=False,
        fence="none",
        fence_kind="mfence",
        table=False,
        lines=64,
        least_chunks=0,
        seed=1,
        cpus=[cpu],
    )
    assert set(chase) == stub_keys("Timings")
    assert set(chase["threads"][0]) == stub_keys("Chunks")
    assert set(memory.walk([0, 64], chunks=1, cpu=cpu)) == stub_keys("WalkTimings")
    contention = memory.contention(
        other="none", area=4096, reads=10, delay_ns=0, seed=1, cpus=[cpu]
    )
    assert set(contention) == stub_keys("ContentionTimings")
    dropped = memory.drop(lines=1, changes=True, chunks=1, cpu=cpu)
    assert set(dropped) == stub_keys("WalkTimings")
    overwritten = memory.overwrite(region=256, writes=1, op="ntstore", fence_kind="mfence", cpu=cpu)
    assert set(overwritten) == stub_keys("OverwriteTimes")
    assert set(_core.host_isa()) == stub_keys("Isa")
    assert set(_core.host_clock()) == stub_keys("ClockData")
