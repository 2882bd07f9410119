"""The pages of replays, crashes, comparisons and tiers, opened in headless Chromium."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from conftest import Run
from nearfar.report.documents import page as page_of
from nearfar.results import Document, TierRunResult, load, parse, save
from opened_page import NEEDED, EveryPage, Opened
from result_examples import compared, crashed, predicted, replayed, tier_ran, tier_replayed

pytestmark = NEEDED

EXAMPLES: dict[str, Callable[[], Document]] = {
    "replay": replayed,
    "crash": crashed,
    "compare": compared,
    "tier-replay": tier_replayed,
    "tier-run": tier_ran,
    "predict": predicted,
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them on one page."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(page_of([make() for make in EXAMPLES.values()]), encoding="utf-8")
    return path


class TestThisPage(EveryPage):
    """What holds for every page."""


def section(opened: Opened, name: str) -> str:
    """The text of one of the documents."""
    at = list(EXAMPLES).index(name)
    return opened.page.locator(".document").nth(at).inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground_in_both_schemes(
    browser: Browser, file: Path, scheme: str
) -> None:
    context = browser.new_context(color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(file.as_uri())
    text, card = page.evaluate(
        """() => ["--text", "--card"].map(name => {
          const probe = document.body.appendChild(document.createElement("i"));
          probe.style.color = `var(${name})`;
          const found = getComputedStyle(probe).color.match(/[0-9.]+/g).slice(0, 3).map(Number);
          probe.remove();
          return 0.2126 * found[0] + 0.7152 * found[1] + 0.0722 * found[2];
        })"""
    )
    assert (text > card + 150) if scheme == "dark" else (card > text + 150)
    context.close()


def test_a_replay_shows_its_latencies_and_its_bandwidth_over_time(opened: Opened) -> None:
    text = section(opened, "replay")
    assert "300" in text
    assert "7 accesses entered after their cycle, up to 90 ns" in text
    for title in ("Read latency", "Bandwidth over time", "DRAM commands", "Energy"):
        assert title in text
    reads = opened.page.locator(".document").nth(0).locator("article").nth(0)
    assert "p99 400 ns" in reads.inner_text()


def test_a_crash_shows_what_was_lost_and_kept_in_the_order_of_the_program(opened: Opened) -> None:
    text = section(opened, "crash")
    assert "of 11 states that x86 allows break the invariant" in text
    assert "crashes from go" in text
    stores = opened.page.locator(".stores").nth(0).locator("li")
    assert [one.inner_text().split("\n") for one in stores.all()] == [
        ["persisted", "log.txt:9: store b 1"],
        ["lost", "log.txt:18: store a 2"],
        ["persisted", "log.txt:21: store valid 0"],
    ]
    assert "a/folder" not in opened.page.locator(".stores").nth(0).inner_text()


def test_a_comparison_puts_what_differs_first_and_both_curves_in_one_picture(
    opened: Opened,
) -> None:
    document = opened.page.locator(".document").nth(2)
    rows = document.locator("tbody tr")
    assert rows.nth(0).inner_text().split() == [
        *("buffer.1.capacity", "16", "KiB", "32", "KiB", "2", "differs")
    ]
    assert rows.nth(1).inner_text().split() == ["levels", "2", "2", "1"]
    text = document.inner_text()
    assert "1 more that neither side identified." in text
    assert "1 of 4 points differ by more than noise" in text
    assert document.locator("article").nth(0).locator("path.model").count() == 2
    assert "simulated time" in document.locator("article").nth(1).inner_text()


def test_policies_stand_beside_what_belady_would_have_missed(opened: Opened) -> None:
    text = section(opened, "tier-replay")
    assert "Belady (knows the future)" in text
    assert "misses; the line is Belady's 300" in text
    marks = opened.page.locator(".document").nth(3).locator("line.limit")
    assert marks.count() == 4  # two policies on two sizes


def test_a_run_on_two_tiers_shows_its_memory_over_time_and_its_counts(opened: Opened) -> None:
    text = section(opened, "tier-run")
    assert "sort on two tiers" in text
    assert "/usr/bin/sort -r words" in text
    for title in ("Near and far over time", "Pages moved over time", "Memory at most", "Pages"):
        assert title in text
    assert "limit of near" in opened.page.locator(".document").nth(4).inner_html()
    assert "1 of the programs that it executed ran without the limit." in text


def test_a_run_that_was_not_looked_at_has_no_pictures_over_time() -> None:
    bare = TierRunResult(
        status=1, policy="fifo", near_limit_bytes=1, near_peak_bytes=1, far_peak_bytes=0,
        managed_share=1.0, backend="swap", hard_limit=False,
    )  # fmt: skip
    text = page_of([bare])
    assert "over time" not in text
    assert "No control group enforced the limit" in text


def test_a_prediction_shows_its_error_each_program_and_the_one_that_failed(
    opened: Opened,
) -> None:
    text = section(opened, "predict")
    assert "2.000" in text
    assert "1.414" in text
    assert "sampled, 1/16 of the steps, 3 native runs each" in text
    assert "broken: fails natively, status 3" in text


def test_a_replay_without_reads_shows_no_latency() -> None:
    import dataclasses

    silent = dataclasses.replace(
        replayed(), reads=0, read_p50_ns=None, read_p99_ns=None, read_latency=None, late=None,
        late_max_ns=None,
    )  # fmt: skip
    text = page_of([silent])
    assert "Read latency" not in text
    assert "None" not in text


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_pointer_finds_values_on_every_picture(opened: Opened, name: str) -> None:
    document = opened.page.locator(".document").nth(list(EXAMPLES).index(name))
    for holder in document.locator(".chart").all():
        holder.locator("svg").focus()
        opened.page.keyboard.press("ArrowRight")
        assert opened.page.locator("#tip").is_visible()
        assert opened.page.locator("#tip b").inner_text()


@pytest.mark.parametrize("name", EXAMPLES)
def test_report_shows_what_the_commands_saved(nearfar: Run, tmp_path: Path, name: str) -> None:
    document = EXAMPLES[name]()
    saved, page = tmp_path / "result.json", tmp_path / "page.html"
    save(document, saved)
    assert load(saved) == document
    assert nearfar("report", str(saved), "-o", str(page)) == (0, "", "")
    assert page.read_text(encoding="utf-8") == page_of([document])


def test_what_is_false_is_told_from_what_is_not_known() -> None:
    data = json.loads(json.dumps(compared().to_dict()))
    assert [one["differs"] for one in data["parameters"] if "differs" in one] == [False, True]
    assert parse(data) == compared()
