"""What a user of `nearfar run` gets to see: the result file, the text and the page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from conftest import Run
from nearfar.report.documents import page as page_of
from nearfar.report.perfetto import perfetto_text
from nearfar.report.run import run_text
from nearfar.results import RunResult, load, parse, save, totals
from opened_page import NEEDED, EveryPage, Opened
from ran_example import PERIOD_PS, example, example_machine

# The result


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "ran.json"
    save(example(), path)
    again = load(path)
    assert isinstance(again, RunResult)
    assert again.to_dict() == example().to_dict()
    assert parse(json.loads(json.dumps(again.to_dict()))).to_dict() == example().to_dict()


def test_figures_over_time_add_up_to_the_sums() -> None:
    machine = example_machine()
    assert sum(machine.over_time.instructions) == machine.core.counts["instructions"]
    for cause, ps in machine.core.stack_ps.items():
        assert sum(machine.over_time.stack_ps[cause]) == ps
    for number, thread in enumerate(machine.threads):
        assert sum(thread.instructions_over_time) == thread.counts["instructions"], number
    asked = sum(page.reads + page.writes for page in machine.memory.pages)
    assert asked == machine.memory.hot_pages.sums[-1]
    cells = (sum(area.reads) + sum(area.writes) for area in machine.memory.areas)
    assert sum(cells) == asked


def test_hits_are_counted_among_the_accesses_of_their_level() -> None:
    hits = example_machine().hits
    assert hits["L1"] == [950, 1000]
    assert hits["L2"] == [20, 45]
    assert hits["L3"] == [10, 25]
    assert hits["rows of near DRAM"] == [3, 4]
    assert hits["read-modify-write buffer"] == [2, 8]
    assert "TLB" not in hits  # no access reached it


def test_ratios_count_the_lines_of_the_tier_that_they_are_of() -> None:
    machine = example_machine()
    assert machine.read_amplification == 2048 / (8 * 64)
    assert machine.write_amplification == 512 / (4 * 64)
    assert machine.energy == {"dimm.media.read": 300, "near.dram.activate": 100}
    assert machine.energy_pj == 400
    assert machine.energy_pj_per_bit == 400 / (16 * 64 * 8)


def test_totals_of_one_machine_twice_are_its_own_doubled() -> None:
    machine = example_machine()
    once, twice = totals.cycles([machine]), totals.cycles([machine, machine])
    assert twice == {cause: 2 * cycles for cause, cycles in once.items()}
    assert sum(once.values()) == 5_000_000 / PERIOD_PS
    both = totals.latency([machine, machine])
    assert both.count == 2 * machine.load_latency.count
    assert (both.p50_ns, both.max_ns) == (163.839, 700.0)
    assert both.p99_ns == 700.0


def test_moves_of_a_block_that_holds_two_hot_lines_count_once() -> None:
    written = example_machine().memory.written_lines
    assert (written.count, written.writes, written.moves) == (4, 4, 10)
    assert written.writes_of_these() == 4
    assert written.moves_of_these() == 5
    assert [line.address for line in written.lines] == [4096, 4160, None]


def test_cycles_of_loads_and_of_the_rest_are_all_cycles() -> None:
    machine = example_machine()
    cost = machine.load_cost
    assert cost is not None
    loads = machine.core.counts["loads"]
    others = machine.core.counts["instructions"] - loads
    everything = cost.cycles_per_load * loads + cost.cycles_per_other * others
    assert everything == pytest.approx(sum(totals.cycles([machine]).values()))
    assert cost.llc_cycles_per_load + cost.tlb_cycles_per_load <= cost.cycles_per_load


# The text


def test_the_text_says_what_a_load_costs_and_which_lines_take_the_writes() -> None:
    text = run_text(example())
    assert "times another instruction's" in text
    assert "100.0 % of the writes go to so many of 4 lines of 64 B" in text
    assert "their blocks 50.0 % of the moves" in text


def test_the_text_begins_with_where_the_cycles_went() -> None:
    text = run_text(example())
    lines = text.splitlines()
    assert (
        lines[0] == "/usr/bin/kv-store on model:optane-100, core window: status 0, 4 us simulated"
    )
    assert lines[1] == "2 programs in 2 processes, 3 threads"
    assert lines[3].startswith("where the time went")
    assert re.match(r"loads from memory +0\.900 +72\.0 %", lines[4])
    assert re.match(r"the instructions themselves +0\.350 +28\.0 %", lines[5])
    assert re.match(r"all +1\.250", lines[6])
    assert re.search(r"near +256 B +0 B", text)
    assert re.search(r"far +512 B +256 B", text)
    assert "p50 150 ns, p90 300 ns, p99 700 ns" in text
    assert "hot pages" in text
    assert "7,200 bytes" in text


def test_the_text_has_a_line_for_each_of_several_programs_the_busiest_first() -> None:
    lines = run_text(example()).splitlines()
    assert re.match(r"programs +process +instructions +cycles", lines[-3])
    assert re.match(r"kv-store +1 +8,000 +10,000 +100\.0 %", lines[-2])
    assert re.match(r"/bin/sh +0 +100 +0\.0 %", lines[-1])
    # Without machines by instructions, and no more than fit a screen.
    first = replace(example().processes[0], program="x" * 50)
    many = [replace(first, process=i, counts={"instructions": i}) for i in range(20)]
    lines = run_text(replace(example(), core="count", processes=many)).splitlines()
    assert lines[-1] == "...and 4 more; --json has them all"
    assert re.match(r"\.{3}x{37} +19 +19 +10\.0 %", lines[-17])
    alone = replace(example(), processes=example().processes[1:])
    assert "programs  process" not in run_text(alone)


def test_the_text_says_which_window_was_measured() -> None:
    windowed = replace(example(), window={"skip": 1000, "warm": 20, "run": 5000})
    said = "measured: of each program the 5,000 instructions behind 1,000 skipped and 20 to warm up"
    assert said in run_text(windowed).splitlines()
    endless = replace(example(), window={"skip": 1000, "warm": 0, "run": 0})
    assert "measured: of each program all instructions behind 1,000" in run_text(endless)
    assert "measured:" not in run_text(example())


def test_without_a_machine_the_text_has_only_executed_instructions() -> None:
    counted = replace(example(), core="count", processes=example().processes[:1])
    text = run_text(counted)
    assert "where the time went" not in text
    assert "instructions" in text
    assert "<svg" not in page_of([counted]).split("</style>")[1]


# The page


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(page_of([example()]), encoding="utf-8")
    return path


@NEEDED
class TestThisPage(EveryPage):
    """What holds for every page."""

    def test_a_bar_is_as_long_as_its_cycles(self, opened: Opened) -> None:
        widths = opened.page.evaluate(
            """() => [...document.querySelectorAll("article:first-of-type rect[data-cause]")]
              .map((rect) => [rect.dataset.cause, rect.width.baseVal.value])"""
        )
        # All threads, then each: base and memory.
        cycles = [0.35, 0.9, 1 / 3, 2 / 3, 0.4, 1.6]
        assert [cause for cause, _ in widths] == ["base", "memory"] * 3
        unit = widths[0][1] / cycles[0]
        for (_, width), expected in zip(widths, cycles, strict=True):
            assert width == pytest.approx(unit * expected, abs=0.2)

    def test_there_is_a_cell_for_every_place_that_was_asked_and_a_bar_for_every_range(
        self, opened: Opened
    ) -> None:
        machine = example_machine()
        asked = [n for area in machine.memory.areas for n in (*area.reads, *area.writes) if n]
        for title, expected in (
            ("Hot pages", len(asked)),
            ("Loads that L1 did not have", len(machine.load_latency.buckets)),
        ):
            card = opened.page.locator("article").filter(has=opened.page.get_by_text(title))
            assert card.locator("rect.fill").count() == expected, title

    def test_every_picture_can_be_read_with_the_keys(self, opened: Opened) -> None:
        page = opened.page
        pictures = page.locator(".chart svg")
        targets = json.loads(page.evaluate("document.getElementById('targets').textContent"))
        assert pictures.count() == len(targets) == 7
        for number, found in enumerate(targets):
            pictures.nth(number).focus()
            page.keyboard.press("ArrowRight")
            tip = page.locator("#tip").inner_text()
            assert found[0][4] in tip
            assert all(value in tip for _, value in found[0][5])

    @pytest.mark.parametrize("width", [1280, 390])
    def test_nothing_lies_outside_its_picture(
        self, browser: Browser, file: Path, width: int
    ) -> None:
        context = browser.new_context(viewport={"width": width, "height": 900})
        page = context.new_page()
        page.goto(file.as_uri())
        outside = page.evaluate(
            """() => [...document.querySelectorAll("svg")].flatMap((svg) => {
              const box = svg.viewBox.baseVal;
              return [...svg.querySelectorAll("path, text, rect")].filter((shape) => {
                const b = shape.getBBox();
                return b.x < -1 || b.y < -1 || b.x + b.width > box.width + 1
                  || b.y + b.height > box.height + 1;
              }).map((shape) => shape.outerHTML.slice(0, 120));
            })"""
        )
        assert outside == []
        touching = page.evaluate(
            """() => [...document.querySelectorAll("svg")].flatMap((svg) => {
              const cells = [...svg.querySelectorAll("rect.cold")].map((cell) => cell.getBBox());
              return [...svg.querySelectorAll("text")].filter((text) => {
                const b = text.getBBox();
                return cells.some((cell) => b.x + b.width > cell.x);
              }).map((text) => text.textContent);
            })"""
        )
        assert touching == []
        context.close()


def test_text_from_outside_cannot_become_markup() -> None:
    evil = "</script><b id=evil>"
    text = page_of([replace(example(evil), notes=(evil,), qemu=evil)])
    assert "<b id=evil>" not in text


def test_the_command_makes_the_page(nearfar: Run, tmp_path: Path) -> None:
    save(example(), tmp_path / "ran.json")
    out = tmp_path / "page.html"
    assert nearfar("report", str(tmp_path / "ran.json"), "-o", str(out)) == (0, "", "")
    assert '<h1 id="top">kv-store on optane-100</h1>' in out.read_text()


# The timeline


def timeline(ran: RunResult) -> list[dict[str, Any]]:
    document = json.loads(perfetto_text(ran))
    assert set(document) == {"displayTimeUnit", "otherData", "traceEvents"}
    events: list[dict[str, Any]] = document["traceEvents"]
    return events


def test_every_event_is_one_that_the_format_knows() -> None:
    """What "Trace Event Format" demands of metadata, complete and counter events."""
    for event in timeline(example()):
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], int)
        assert event["pid"] > 0
        match event["ph"]:
            case "M":
                assert event["name"] in ("process_name", "thread_name")
                assert isinstance(event["args"]["name"], str)
                assert "ts" not in event
            case "X":
                assert isinstance(event["tid"], int)
                assert event["ts"] >= 0
                assert event["dur"] > 0
            case "C":
                assert event["ts"] >= 0
                assert event["args"]
                assert all(value >= 0 for value in event["args"].values())
            case other:
                pytest.fail(f"phase {other}")


def test_slices_of_a_thread_follow_each_other_within_the_process() -> None:
    ran = example()
    tracks: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for event in timeline(ran):
        if event["ph"] == "X":
            tracks.setdefault((event["pid"], event["tid"]), []).append(event)
    assert set(tracks) == {(1, 1), (2, 1), (2, 2), (2, 3)}
    for (pid, _), slices in tracks.items():
        process = ran.processes[pid - 1]
        assert slices[0]["ts"] * 1000 >= process.start_ns
        for before, after in pairwise(slices):
            assert before["ts"] + before["dur"] <= after["ts"] + 1e-9
        assert (slices[-1]["ts"] + slices[-1]["dur"]) * 1000 <= process.end_ns + 1e-6
    assert [one["name"] for one in tracks[(2, 1)]] == [
        "the instructions themselves",
        "loads from memory",
    ]
    second = tracks[(2, 3)]
    assert [(one["ts"], one["dur"]) for one in second] == [(2.5, 1.5)]
    assert second[0]["args"] == {"instructions": 2000}


def test_counters_times_their_spans_give_the_moved_bytes() -> None:
    counters: dict[str, list[tuple[float, dict[str, float]]]] = {}
    for event in timeline(example()):
        if event["ph"] == "C":
            counters.setdefault(event["name"], []).append((event["ts"], event["args"]))
    moved = 0.0
    for name in ("near memory, GB/s", "far memory, GB/s"):
        for (at, values), (until, _) in pairwise(counters[name]):
            moved += sum(values.values()) * (until - at) * 1000
        assert set(counters[name][-1][1].values()) == {0.0}
    assert moved == pytest.approx(16 * 64, abs=0.01)
    busy = counters["threads busy with"]
    spent = sum(sum(v.values()) * (b - a) for (a, v), (b, _) in pairwise(busy))
    assert spent == pytest.approx(5.0, abs=0.001)


def test_the_command_writes_the_timeline_of_one_run(
    nearfar: Run, refused: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "ran.json"
    save(example(), path)
    out = tmp_path / "timeline.json"
    assert nearfar("report", str(path), "--perfetto", str(out)) == (0, "", "")
    assert out.read_text() == perfetto_text(example())
    both = refused("report", str(path), str(path), "--perfetto", str(out))
    assert both == "--perfetto: found 2 results, expected one run"
    assert refused("report", str(path)).startswith("report: expected -o FILE.html or --perfetto")


# Two runs


def test_two_runs_differ_in_the_changed_option_and_in_nothing_else(
    nearfar: Run, tmp_path: Path
) -> None:
    one, other = example(), example()
    machine = example_machine()
    slower = replace(
        machine,
        core=replace(machine.core, stack_ps={**machine.core.stack_ps, "memory": 7_200_000}),
    )
    other = replace(
        other, processes=(other.processes[0], replace(other.processes[1], machine=slower))
    )
    for name, ran in (("a.json", one), ("b.json", other)):
        save(ran, tmp_path / name)
    status, out, _ = nearfar("compare", str(tmp_path / "a.json"), str(tmp_path / "b.json"))
    assert status == 0
    rows = [line for line in out.splitlines() if line.endswith("differs")]
    assert len(rows) == 2
    assert re.match(r"cycles +1.25 cycles/instruction +2.15 cycles/instruction +1.72 ", rows[0])
    assert re.match(r"loads from memory +0.9 .* 1.8 .* 2 ", rows[1])
