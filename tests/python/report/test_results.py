"""Documents: what is written can be read, what is wrong is named, files are whole or old."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from nearfar.errors import InputError
from nearfar.results import (
    ComparedPoint,
    ComparedSeries,
    CurveFeature,
    Document,
    Environment,
    Mark,
    MeasureResult,
    ModelCard,
    Ordering,
    Parameter,
    Point,
    ReplayResult,
    Target,
    ValidationResult,
    check_writable,
    load,
    parse,
    save,
    to_json,
    write_text,
)

TARGET = Target("model", "optane-100", "model:optane-100", "simulated")
ENVIRONMENT = Environment(version="0.1.0", seed=1, model_hash="sha256:0")
POINT = Point("ntload", 1, 64, 180.5, 0.35, 11552.0, region_bytes=4096, hits={"rmw": 3})
RESULT = MeasureResult(TARGET, ENVIRONMENT, {"kind": "chase"}, (POINT,))
VALIDATION = ValidationResult(
    TARGET,
    ENVIRONMENT,
    ("demo",),
    (
        ComparedSeries(
            *("loads", "Loads", "chase", "a paper"),
            *(1, 0.9, 0.9, "region 64 B", 1.0, 0.1),
            points=(ComparedPoint("region 64 B", "ns", 100.0, 110.0, 0.9, 64.0),),
            marks=(Mark(16384.0, "buffer"),),
            shape=(CurveFeature("4 KiB", "peak", "4", "16", right=False),),
            orderings=(Ordering("seq", "rand", (1.5, 2.2), (1.6, 1.4), right=False),),
        ),
    ),
    ModelCard("optane-100", "a DIMM", (Parameter("channels", "1", "preset"),)),
)
REPLAYED = ReplayResult(
    TARGET, ENVIRONMENT, {"file": "t"}, 3, 2, 1, 900, 0.2, 1.0, 2.0, 3.0, 4.0, 0, 0.0, {"ACT": 1}
)


@pytest.mark.parametrize("document", [RESULT, VALIDATION, REPLAYED], ids=lambda d: d.SCHEMA)
def test_a_document_comes_back_from_its_file_as_it_was(document: Document, tmp_path: Path) -> None:
    save(document, tmp_path / "file.json")
    assert load(tmp_path / "file.json") == document


numbers = some.floats(0, 1e12) | some.integers(0, 2**53)
points = some.builds(
    Point,
    op=some.text(max_size=10),
    threads=some.integers(1, 99),
    lines=some.integers(1, 2**40),
    ns_per_line=numbers,
    gb_per_s=numbers,
    elapsed_ns=numbers,
    p50_ns=some.none() | numbers,
    stride_bytes=some.none() | some.integers(0, 2**40) | some.just("random"),
    hits=some.dictionaries(some.text(max_size=5), some.integers(0, 2**60), max_size=3),
)


@given(some.lists(points, max_size=4), some.none() | some.lists(numbers), some.booleans())
def test_any_result_comes_back_from_its_text(
    found: list[Point], samples: list[float] | None, interrupted: bool
) -> None:
    kept = None if samples is None else tuple(samples)
    result = MeasureResult(TARGET, ENVIRONMENT, {"kind": "chase"}, tuple(found), kept, interrupted)
    assert parse(json.loads(to_json(result))) == result


def test_the_text_has_the_schema_first_and_leaves_out_keys_that_do_not_apply() -> None:
    data = json.loads(to_json(RESULT))
    assert next(iter(data.items())) == ("schema", "nearfar/result/1")
    assert set(data) == {"schema", "target", "environment", "pattern", "points"}
    assert "p50_ns" not in data["points"][0]
    assert "cpu" not in data["environment"]


def test_an_interrupted_result_says_so() -> None:
    interrupted = MeasureResult(TARGET, ENVIRONMENT, {"kind": "chase"}, (), interrupted=True)
    assert json.loads(to_json(interrupted))["interrupted"] is True


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"schema": "nearfar/result/2"}, "found schema 'nearfar/result/2', expected"),
        ({"points": {}}, "found {} for points, expected a list"),
        ({"point": []}, "found unknown key point; did you mean points?"),
        ({"target": None}, "found None for target, expected an object"),
        ({"interrupted": 1}, "found 1 for interrupted, expected true or false"),
        ({"samples": [1.0, "x"]}, "found 'x' for samples[1], expected a number"),
        ({"samples": [1.0, -2.0]}, "found -2.0 for samples[1], expected zero or more"),
        ({"samples": [True]}, "found True for samples[0], expected a number"),
    ],
)
def test_a_wrong_key_is_named_with_what_was_expected(
    change: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InputError) as error:
        parse({**RESULT.to_dict(), **change}, origin="r.json")
    assert str(error.value).startswith("r.json: ")
    assert complaint in str(error.value)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"lines": 1.5}, "found 1.5 for points[0].lines, expected a whole number"),
        ({"lines": -1}, "found -1 for points[0].lines, expected zero or more"),
        ({"ns_per_line": float("nan")}, "found nan for points[0].ns_per_line, expected a finite"),
        ({"hits": {"rmw": "3"}}, "found '3' for points[0].hits.rmw, expected a whole number"),
        ({"p50ns": 1.0}, "found unknown key points[0].p50ns; did you mean p50_ns?"),
    ],
)
def test_a_wrong_value_of_a_point_is_named(change: dict[str, Any], complaint: str) -> None:
    data = RESULT.to_dict()
    data["points"][0].update(change)
    with pytest.raises(InputError, match=r"r\.json: ") as error:
        parse(data, origin="r.json")
    assert complaint in str(error.value)


def test_a_missing_key_is_named() -> None:
    data = RESULT.to_dict()
    del data["points"][0]["threads"]
    with pytest.raises(InputError, match=r"points\[0\].threads is missing"):
        parse(data)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not JSON"),
        (b'{"schema":\n oops}', ":2: not JSON"),
        (b"[]", "found no schema"),
        (b"\xff\xfe", "can't decode"),
    ],
)
def test_a_file_that_is_no_document_is_one_clear_error(
    content: bytes, complaint: str, tmp_path: Path
) -> None:
    file = tmp_path / "r.json"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"r\.json") as error:
        load(file)
    assert complaint in str(error.value)


def test_a_missing_file_and_a_folder_are_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(InputError, match=str(path)):
            load(path)


def test_a_failed_write_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "r.json"
    file.write_text("old")

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match="No space left on device"):
        write_text(file, "new")
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_a_new_file_has_the_usual_permissions_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    plain, ours = tmp_path / "plain", tmp_path / "ours"
    plain.touch()
    write_text(ours, "x")
    assert stat.S_IMODE(ours.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    ours.chmod(0o640)
    write_text(ours, "y")
    assert stat.S_IMODE(ours.stat().st_mode) == 0o640


def test_writing_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    link.symlink_to(real)
    write_text(link, "x")
    assert link.is_symlink()
    assert real.read_text() == "x"


def test_a_place_that_cannot_be_written_is_found_beforehand_without_a_trace(
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match="No such file or directory"):
        check_writable(tmp_path / "none" / "r.json")
    with pytest.raises(InputError, match="is a folder"):
        check_writable(tmp_path)
    check_writable(tmp_path / "r.json")
    assert list(tmp_path.iterdir()) == []
