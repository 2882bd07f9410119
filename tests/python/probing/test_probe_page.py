"""The page of a probe, opened in headless Chromium without a network."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

import nearfar
from curve_examples import read
from nearfar.inference import STUDIES
from nearfar.inference.curves.findings import infer_curves
from nearfar.probing.probe import probe
from nearfar.report.diagram import diagram
from nearfar.report.documents import page as page_of
from nearfar.report.figures.observations import figures, places
from nearfar.results import Observation, ProbeResult, Target, parse
from nearfar.results.findings import identified, not_identifiable
from opened_page import NEEDED, EveryPage, Opened
from standin import StandIn

pytestmark = NEEDED


@pytest.fixture(scope="module")
def probed() -> ProbeResult:
    return probe("model:optane-100,channels=6", tuple(STUDIES), quick=True)


def tables(folder: Path) -> ProbeResult:
    """Published curves of every layout that has a picture."""
    names = ("vans_ptr_chasing", "vans_overwrite256", "sec23_rmw_replacement_same_order")
    seen = [*read(*names, folder=folder), *read("sec23_wearlevel_write_gap_dist", folder=folder)]
    six = [one for one in seen if one.pattern.get("modules") != 1]
    return ProbeResult(observations=tuple(six), findings=tuple(infer_curves(six)))


@pytest.fixture(scope="module")
def file(probed: ProbeResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A probe, tables, measurements and a validation on one page."""
    reference = Path(__file__).resolve().parents[3] / "reference"
    core = StandIn()
    chase = nearfar.Chase(region="4KiB,16KiB,64KiB", op="ntstore,ntload")
    documents = [
        probed,
        tables(reference),
        nearfar.measure("model:optane-100", chase, core=core),
        nearfar.measure("model:optane-100", nearfar.Overwrite(writes=5000), core=core),
        nearfar.measure(
            "model:optane-100", nearfar.Stream(op="ntload", threads=(1, 2, 4)), core=core
        ),
        nearfar.validate("model:optane-100", "contention", core=core),
    ]
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(page_of(documents), encoding="utf-8")
    return path


class TestThisPage(EveryPage):
    """What holds for every page."""


def test_every_finding_has_its_row_with_value_interval_and_reason(
    opened: Opened, probed: ProbeResult
) -> None:
    rows = opened.page.locator("#d0-findings tbody tr")
    assert rows.count() == len(probed.findings)
    for row, finding in zip(rows.all(), probed.findings, strict=True):
        text = row.inner_text()
        assert finding.name in text
        assert finding.reason in text
    capacity = opened.page.locator('[id="d0-finding-buffer.1.capacity"]').inner_text()
    assert "16 KiB" in capacity


def test_every_link_leads_to_something_on_the_page(opened: Opened) -> None:
    missing = opened.page.evaluate(
        """() => [...document.querySelectorAll('a')].map((a) => a.getAttribute('href'))
          .filter((href) => !document.getElementById(href.slice(1)))"""
    )
    assert missing == []


def test_no_id_is_used_twice(opened: Opened) -> None:
    ids = opened.page.evaluate(
        "() => [...document.querySelectorAll('[id]')].map((element) => element.id)"
    )
    assert sorted(ids) == sorted(set(ids))


def test_evidence_leads_to_the_figure_that_shows_the_observation(
    opened: Opened, probed: ProbeResult
) -> None:
    drawn = figures(probed.observations, probed.findings, "d0-")
    shown = places(drawn)
    finding = probed.finding("buffer.1.capacity")
    row = opened.page.locator('[id="d0-finding-buffer.1.capacity"]')
    links = row.locator("a").evaluate_all("all => all.map((a) => a.getAttribute('href').slice(1))")
    assert set(links) == {shown[one] for one in finding.evidence if one in shown}
    assert links
    for name in links:
        assert opened.page.locator(f"article[id='{name}'] svg").count() == 1


def test_the_diagram_shows_every_identified_part_and_leads_to_its_finding(opened: Opened) -> None:
    picture = opened.page.locator("#d0-structure svg")
    label = picture.get_attribute("aria-label") or ""
    for words in (
        "Write pending queue: lines 8, bytes 512 B",
        "Load-store queue: lines 64, bytes 4 KiB",
        "Buffer 1: capacity 16 KiB, entry 256 B, ways 64, sets 1, policy fifo",
        "Buffer 2: capacity 16 MiB, entry 4 KiB, ways 16, sets 256, policy lru",
    ):
        assert words in label
    assert "6 modules, by turns every 4 KiB" in picture.text_content()  # type: ignore[operator]
    picture.locator("a", has_text="16 MiB").click()
    assert opened.page.url.endswith("#d0-finding-buffer.2.capacity")


@pytest.mark.parametrize("width", [1280, 700])
def test_nothing_in_a_picture_lies_outside_or_overlaps_its_box(
    browser: Browser, file: Path, width: int
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
    overlapping = page.evaluate(
        """() => [...document.querySelectorAll("svg.diagram")].flatMap((svg) => {
          const words = [...svg.querySelectorAll("text")].map((t) => [t, t.getBBox()]);
          return words.flatMap(([one, a], i) => words.slice(i + 1).filter(([, b]) =>
            a.x < b.x + b.width - 1 && b.x < a.x + a.width - 1
            && a.y < b.y + b.height - 3 && b.y < a.y + a.height - 3)
            .map(([other]) => one.textContent + " / " + other.textContent));
        })"""
    )
    assert overlapping == []
    context.close()


def test_the_pointer_shows_values_and_the_observation(opened: Opened) -> None:
    page = opened.page
    charts = page.locator(".chart svg").count()
    targets = _targets(page)
    assert len(targets) == charts
    for number in range(charts):
        svg = page.locator(".chart svg").nth(number)
        svg.focus()
        page.keyboard.press("ArrowRight")
        tip = page.locator("#tip").inner_text()
        first = targets[number][0]
        assert first[4] in tip
        for name, value in first[5]:
            assert name in tip
            assert value in tip


def test_a_figure_draws_every_point_it_lists(probed: ProbeResult) -> None:
    for figure in figures(probed.observations, probed.findings):
        assert figure.points > 0
        assert figure.shows


def test_every_prober_of_a_model_has_its_picture(probed: ProbeResult) -> None:
    shown = places(figures(probed.observations, probed.findings))
    assert {one.prober for one in probed.observations if one.id in shown} == {
        one.prober for one in probed.observations
    }


def test_dark_mode_colours_the_diagram(browser: Browser, file: Path) -> None:
    fills = {}
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(file.as_uri())
        fills[scheme] = page.locator("rect.part").nth(1).evaluate("r => getComputedStyle(r).fill")
        context.close()
    assert fills["light"] != fills["dark"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_colour_stands_out_from_its_ground(browser: Browser, file: Path, scheme: Any) -> None:
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.goto(file.as_uri())
    card, *inks = page.evaluate(
        """() => ["--card", "--s4", "--s5", "--good"].map((name) => {
          document.body.style.color = `var(${name})`;
          return getComputedStyle(document.body).color.match(/[0-9]+/g).map(Number);
        })"""
    )
    for ink in inks:
        low, high = sorted((_luminance(card), _luminance(ink)))
        assert (high + 0.05) / (low + 0.05) >= 4.5
    context.close()


def test_without_its_script_it_still_shows_everything(
    browser: Browser, file: Path, probed: ProbeResult
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator("#d0-findings tbody tr").count() == len(probed.findings)
    assert page.locator("svg.diagram").count() == 2
    context.close()


def test_text_from_outside_cannot_become_markup(browser: Browser, tmp_path: Path) -> None:
    evil = "</script><b id=evil>"
    seen = Observation(
        f"{evil}.1", evil, {"kind": evil, "x": evil}, 4, samples=(1.0, 2.0, 3.0, 4.0)
    )
    result = ProbeResult(
        target=Target("model", evil, evil, evil),
        observations=(seen,),
        findings=(
            identified("buffer.1.capacity", 4096, evil, [f"{evil}.1"]),
            identified("buffer.1.policy", evil, evil, []),
            not_identifiable("buffer.1.ways", evil, [evil]),
        ),
    )
    again = parse(json.loads(json.dumps(result.to_dict())))
    assert isinstance(again, ProbeResult)
    file = tmp_path / "page.html"
    file.write_text(page_of([again]), encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    assert page.locator("#evil").count() == 0
    assert _targets(page)
    page.close()


# The diagram


def test_an_unknown_part_is_a_question_mark_and_one_not_sought_is_absent() -> None:
    picture = diagram(
        [
            identified("buffer.1.capacity", 4096, "", []),
            not_identifiable("buffer.1.ways", "", []),
        ]
    )
    assert "Buffer 1: capacity 4 KiB, ways ?" in picture
    assert "Write pending queue" not in picture
    assert "Buffer 2" not in picture


def test_no_structure_gives_no_diagram() -> None:
    assert diagram([identified("levels", 0, "", [])]) == ""


def test_the_tlb_of_a_machine_stands_before_its_caches() -> None:
    picture = diagram(
        [identified("tlb.1.entries", 96, "", []), identified("cache.1.capacity", 49152, "", [])]
    )
    label = re.search(r'aria-label="([^"]*)"', picture)
    assert label is not None
    assert label[1].index("TLB") < label[1].index("L1")


def test_an_interrupted_probe_without_observations_still_has_a_page() -> None:
    empty = ProbeResult(observations=(), findings=(), interrupted=True)
    text = page_of([replace(empty, pattern={"quick": True})])
    assert "Interrupted" in text
    assert "<svg" not in text.split("</style>")[1]


def _targets(page: Page) -> list[list[Any]]:
    found: list[list[Any]] = json.loads(
        page.evaluate("document.getElementById('targets').textContent")
    )
    return found


def _luminance(colour: list[int]) -> float:
    """Relative luminance of WCAG 2."""
    linear = [
        value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4
        for value in (channel / 255 for channel in colour[:3])
    ]
    return sum(w * value for w, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
