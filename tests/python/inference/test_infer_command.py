"""`nearfar infer`: tables and saved results in, findings out, and nothing else looked at."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from nearfar.probing.saved import infer
from nearfar.report.findings import brief, findings_text, interval
from nearfar.results import Finding, ProbeResult, parse
from nearfar.results.findings import identified, not_identifiable


def test_a_table_gives_values_intervals_and_evidence(nearfar: Run, reference: Path) -> None:
    status, out, err = nearfar("infer", str(reference / "vans_overwrite256.csv"))
    assert (status, err) == (0, "")
    header, *rows = out.splitlines()
    assert header.split() == ["parameter", "value", "interval", "evidence"]
    assert rows[1].split() == [
        *("migration.period", "15", "982", "writes"),
        *("15", "128", "to", "17", "392", "writes", "vans_overwrite256.1"),
    ]
    assert rows[-1].split()[0] == "migration.block"


def test_the_written_result_gives_the_same_again(
    nearfar: Run, reference: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "saved.json"
    table = str(reference / "sec23_rmw_replacement_same_order.csv")
    _, first, _ = nearfar("infer", table, "--json", str(saved))
    document = parse(json.loads(saved.read_text()))
    assert isinstance(document, ProbeResult)
    assert document.finding("buffer.1.ways").value == 64
    again = tmp_path / "again.json"
    _, second, _ = nearfar("infer", str(saved), "--json", str(again))
    assert first == second
    assert saved.read_bytes() == again.read_bytes()


def test_tables_of_one_name_make_observations_of_their_own(reference: Path, tmp_path: Path) -> None:
    table = (reference / "vans_overwrite256.csv").read_text()
    files = [tmp_path / name for name in ("a/dimm-2.csv", "a/dimm.csv", "b/dimm.csv")]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text(table)
    seen = infer(*files).observations
    assert [one.prober for one in seen] == ["dimm-2", "dimm", "dimm-3"]


@pytest.mark.parametrize(
    ("pattern", "missing"),
    [
        ({"kind": "chain", "pages": "4KiB"}, "order"),
        ({"kind": "chain", "pages": "4KiB", "order": "dense"}, "order.kind"),
        ({"kind": "sequence", "effort": [], "order": {"kind": "walk"}}, "order.params"),
        ({"kind": "core_loop", "name": "adds"}, "count"),
        ({"kind": "point", "measured": "stream", "op": "load"}, "threads"),
    ],
)
def test_an_observation_that_does_not_say_what_was_done_is_one_line(
    refused: Callable[..., str], tmp_path: Path, pattern: dict[str, object], missing: str
) -> None:
    one = {"id": "caches.7", "prober": "caches", "pattern": pattern, "accesses": 1, "samples": [1]}
    document = {"schema": ProbeResult.SCHEMA, "observations": [one], "findings": []}
    (tmp_path / "probe.json").write_text(json.dumps(document))
    message = refused("infer", str(tmp_path / "probe.json"))
    assert message.endswith(f"probe.json: found observation caches.7 without pattern.{missing}")


@pytest.fixture
def measured() -> dict[str, object]:
    """A chase as `measure` saves it, over a buffer of 16 KiB."""
    points = [
        {
            "op": "ntload",
            "threads": 1,
            "lines": 4096,
            "ns_per_line": 180 if region <= 16384 else 310 - 130 * 16384 / region,
            "gb_per_s": 1.0,
            "elapsed_ns": 1.0,
            "region_bytes": region,
            "block_bytes": 64,
        }
        for region in [1024 * 2**p * f // 8 for p in range(11) for f in (8, 10, 12, 14)]
    ]
    return {
        "schema": "nearfar/result/1",
        "target": {"kind": "host", "name": "x", "spec": "host:x", "mode": "measured"},
        "environment": {"version": "0", "seed": 1, "kernel": "6.1"},
        "pattern": {"kind": "chase", "op": ["ntload"], "regions": "fresh"},
        "points": points,
    }


def test_a_measurement_is_read_like_a_table_and_its_target_plays_no_part(
    nearfar: Run, tmp_path: Path, measured: dict[str, object]
) -> None:
    texts = []
    for change in ({}, {"target": {**measured["target"], "name": "optane-100"}}):  # type: ignore[dict-item]
        file = tmp_path / "m.json"
        file.write_text(json.dumps({**measured, **change}))
        status, out, _ = nearfar("infer", str(file))
        assert status == 0
        texts.append(out)
    assert texts[0] == texts[1]
    assert "buffer.1.capacity  16 KiB" in texts[0]


def test_several_files_of_one_device_are_taken_together(nearfar: Run, reference: Path) -> None:
    names = ("sec23_rmw_replacement_same_order", "vans_overwrite256")
    _, out, _ = nearfar("infer", *(str(reference / f"{name}.csv") for name in names))
    assert "buffer.1.ways" in out
    assert "migration.stall" in out


def test_a_result_without_anything_to_infer_from_is_refused(
    refused: Callable[..., str], tmp_path: Path, measured: dict[str, object]
) -> None:
    file = tmp_path / "s.json"
    file.write_text(json.dumps({**measured, "pattern": {"kind": "stream"}}))
    assert refused("infer", str(file)) == (
        f"{file}: found a measurement of kind 'stream' without points to infer from, "
        "expected a chase or an overwrite"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found no rows, expected a header and measurements"),
        ("iteration,ns\n", "found no rows, expected a header and measurements"),
        ("iteration,ns\n1\n", "expected 2 cells"),
        ("iteration,ns\n1,2,3\n", "expected 2 cells"),
        ("a,b\n1,2\n", "found columns a, b, expected those of a known layout"),
        ("iteration,ns\n1,-5\n", "ns is '-5', expected a number from 0"),
    ],
)
def test_a_table_that_cannot_be_read_is_one_clear_line(
    refused: Callable[..., str], tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "t.csv"
    file.write_text(text)
    assert message in refused("infer", str(file))


def test_a_missing_file_is_one_clear_line(refused: Callable[..., str], tmp_path: Path) -> None:
    for name in ("x.csv", "x.json"):
        assert refused("infer", str(tmp_path / name)).endswith(f"{name}: No such file or directory")


# The text


def test_evidence_is_shown_by_prober_and_counted() -> None:
    assert brief(("a.1", "a.2", "b.7")) == "a.1, a.2, b.7"
    assert brief(tuple(f"a.{n}" for n in range(9))) == "a.0..8 (9)"
    assert brief(()) == ""


@pytest.mark.parametrize(
    ("name", "bounds", "shown"),
    [
        ("buffer.1.capacity", (16384, 16384), "exact"),
        ("buffer.1.capacity", (15872, 17408), "15.5 to 17 KiB"),
        ("buffer.1.capacity", (768, 2048), "768 B to 2 KiB"),
        ("migration.stall", (51829, 52683), "51 829 to 52 683 ns"),
        ("wpq.lines", (7, 9), "7 to 9"),
        ("bandwidth.read.peak", (47.2, 49.0), "47.2 to 49 GB/s"),
    ],
)
def test_intervals_name_their_unit_once(name: str, bounds: tuple[float, float], shown: str) -> None:
    assert interval(identified(name, bounds[0], "", (), bounds)) == shown


def test_an_unidentifiable_finding_says_why_and_between_which_bounds() -> None:
    findings: list[Finding] = [
        not_identifiable("buffer.1.entry", "needs blocks", (), (64, 256)),
        not_identifiable("modules", "needs pairs", ()),
    ]
    text = findings_text(findings)
    assert "buffer.1.entry  needs blocks; 64 to 256 B" in text
    assert "parameter" not in text


def test_a_result_without_findings_says_so() -> None:
    assert findings_text([]) == "nothing to infer from\n"
