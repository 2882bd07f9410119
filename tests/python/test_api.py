"""The functions a script calls, and that asking for none of them costs nothing."""

from __future__ import annotations

import ast
import functools
import inspect
import os
import pkgutil
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


def test_the_command_starts_without_models_and_results() -> None:
    loaded = loaded_by("import nearfar.cli.main")
    assert not loaded & {"nearfar.model", "nearfar.results", "importlib.metadata", "json"}


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
    chase = _core.ChasePattern(region=64, ops=["ntload"], lines=64)
    (point,) = _core.measure(model, chase, seed=1)
    assert set(point) == stub_keys("PointData")
    (overwritten,) = _core.measure(model, _core.OverwritePattern(writes=2), seed=1)
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
        command_trace=b"",
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
        _core.measure("", _core.OverwritePattern(writes=1), seed=1)


def test_a_struct_of_the_core_takes_its_own_fields_and_no_others() -> None:
    assert {"region", "threads", "outstanding"} <= set(_core.ChasePattern.fields())
    with pytest.raises(TypeError, match="no field"):
        _core.ChasePattern(regoin=64)
    with pytest.raises(TypeError, match="region: found a value of another type"):
        _core.ChasePattern(region="64")
    with pytest.raises(nearfar.InputError, match="expected region, block or none"):
        _core.ChasePattern(fence="line")


FUNCTIONS = [name for name in nearfar.__all__ if inspect.isfunction(getattr(nearfar, name))]


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "page"])
def test_every_public_function_that_takes_input_says_what_it_raises(name: str) -> None:
    assert "InputError" in (inspect.getdoc(getattr(nearfar, name)) or "")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_takes_at_most_seven_arguments(name: str) -> None:
    assert len(inspect.signature(getattr(nearfar, name)).parameters) <= 7


def test_no_public_name_is_that_of_a_module_which_would_take_its_place_when_imported() -> None:
    modules = {module.name for module in pkgutil.iter_modules(nearfar.__path__)}
    assert modules & set(nearfar.__all__) == set()


def test_whatever_is_imported_before_the_functions_are_functions() -> None:
    imports = "\n".join(
        f"import nearfar.{module.name}"
        for module in pkgutil.iter_modules(nearfar.__path__)
        if not module.name.startswith("_")
    )
    loaded_by(f"{imports}\nassert all(callable(getattr(nearfar, n)) for n in {FUNCTIONS})")


@pytest.mark.parametrize("name", [name for name in nearfar.__all__ if name.endswith("Result")])
def test_every_result_can_be_written_and_names_its_schema(name: str) -> None:
    kind = getattr(nearfar, name)
    assert re.fullmatch(r"nearfar/[a-z-]+/1", kind.SCHEMA)
    assert callable(kind.to_dict)


def test_what_type_checkers_see_is_what_is_there() -> None:
    """The names for type checkers, `__all__` and the table of homes are one list."""
    source = ast.parse((PACKAGE / "__init__.py").read_text())
    (block,) = [node for node in source.body if isinstance(node, ast.If)]
    imported = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module != "typing"
        for alias in node.names
    }
    assert imported == {name: ".".join(home) for name, home in nearfar._HOMES.items()}
    assert sorted([*imported, "__version__"]) == nearfar.__all__


@pytest.mark.skipif(not hasattr(_core, "HostMemory"), reason="the kernels are for x86-64")
def test_the_stub_has_the_keys_that_the_kernels_return() -> None:
    memory = _core.HostMemory(1 << 16)
    cpu = min(os.sched_getaffinity(0))
    chase = memory.chase(_core.ChaseRequest(region=4096, op="load", lines=64, cpus=[cpu]))
    assert set(chase) == stub_keys("Timings")
    assert set(chase["threads"][0]) == stub_keys("Chunks")
    assert set(memory.walk(_core.WalkRequest(offsets=[0, 64], chunks=1, cpu=cpu))) == stub_keys(
        "WalkTimings"
    )
    contention = memory.contention(_core.ContentionRequest(area=4096, reads=10, cpus=[cpu]))
    assert set(contention) == stub_keys("ContentionTimings")
    dropped = memory.drop(_core.DropRequest(lines=1, changes=True, chunks=1, cpu=cpu))
    assert set(dropped) == stub_keys("WalkTimings")
    overwritten = memory.overwrite(_core.OverwriteRequest(writes=1, cpu=cpu))
    assert set(overwritten) == stub_keys("OverwriteTimes")
    assert set(_core.host_isa()) == stub_keys("Isa")
    assert set(_core.host_clock()) == stub_keys("ClockData")
