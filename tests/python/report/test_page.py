"""The page of a validation, opened in headless Chromium without a network."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

import nearfar
from nearfar.report.pages.validation import validation_page
from nearfar.results import ValidationResult
from opened_page import NEEDED, EveryPage, Opened
from standin import StandIn

pytestmark = NEEDED


@pytest.fixture(scope="module")
def validation() -> ValidationResult:
    """Curves, rows of figures and a cloud of many: every kind of chart."""
    against = "demo,bandwidth-1dimm,contention,perma-1dimm"
    return nearfar.validate("model:optane-100", against, core=StandIn())


@pytest.fixture(scope="module")
def file(validation: ValidationResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(validation_page(validation), encoding="utf-8")
    return path


class TestThisPage(EveryPage):
    """What holds for every page."""


def ground(page: Page) -> str:
    colour: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return colour


def test_every_series_is_drawn_as_hardware_and_as_model(
    opened: Opened, validation: ValidationResult
) -> None:
    for kind in ("hardware", "model"):
        drawn = opened.page.locator(f"path.{kind}[data-series]")
        names = drawn.evaluate_all("paths => paths.map(p => p.dataset.series)")
        assert sorted(names) == sorted(series.name for series in validation.series)
        seen = drawn.evaluate_all(
            """paths => paths.map((path) => {
              const style = getComputedStyle(path);
              return style.stroke !== "none" && parseFloat(style.strokeWidth) >= 1
                && Number(style.opacity) > 0.2 && style.visibility === "visible";
            })"""
        )
        assert all(seen)


def test_every_point_is_drawn_once_for_the_hardware_and_once_for_the_model(
    opened: Opened, validation: ValidationResult
) -> None:
    for series in validation.series:
        path = opened.page.locator(f'path.model[data-series="{series.name}"]')
        data = path.get_attribute("d") or ""
        assert len(re.findall("[ML]", data)) == series.n, series.name
        if series.x_name:
            hardware = opened.page.locator(f'path.hardware[data-series="{series.name}"]')
            assert (hardware.get_attribute("d") or "").count("M") == series.n


def test_every_mark_lies_inside_its_chart(opened: Opened) -> None:
    outside = opened.page.evaluate(
        """() => [...document.querySelectorAll("svg")].flatMap((svg) => {
          const box = svg.viewBox.baseVal;
          return [...svg.querySelectorAll("path, text")].filter((shape) => {
            const b = shape.getBBox();
            return b.x < -1 || b.y < -1 || b.x + b.width > box.width + 1
              || b.y + b.height > box.height + 1;
          }).map((shape) => shape.outerHTML.slice(0, 120));
        })"""
    )
    assert outside == []


def test_the_summary_has_the_numbers_of_the_document(
    opened: Opened, validation: ValidationResult
) -> None:
    rows = opened.page.locator("#summary tbody tr")
    assert rows.count() == len(validation.series)
    for row, series in zip(rows.all(), validation.series, strict=True):
        text = row.inner_text().replace("\t", " ")
        for shown in (
            series.name,
            f"{series.n}",
            f"{series.mean:.3f}",
            f"{series.worst:.3f}",
            series.worst_point,
            f"{series.ceiling:.3f}",
        ):
            assert shown in text


def test_every_series_of_the_summary_leads_to_its_chart(
    opened: Opened, validation: ValidationResult
) -> None:
    for series in validation.series:
        link = opened.page.locator("#summary a", has_text=re.compile(f"^{re.escape(series.name)}$"))
        chart = opened.page.locator(link.get_attribute("href") or "")
        assert chart.locator(f'path.model[data-series="{series.name}"]').count() == 1


def test_the_pointer_shows_the_nearest_point_and_leaving_hides_it(
    opened: Opened, validation: ValidationResult
) -> None:
    page = opened.page
    svg = page.locator(".chart svg").first
    svg.scroll_into_view_if_needed()
    box = svg.bounding_box()
    assert box is not None
    target = _targets(page)[0][40]
    scale = box["width"] / page.evaluate(
        "document.querySelector('.chart svg').viewBox.baseVal.width"
    )
    page.mouse.move(box["x"] + target[0] * scale, box["y"] + target[1] * scale)
    tip = page.locator("#tip")
    assert tip.is_visible()
    shown = tip.inner_text()
    point = validation.series[0].points[40]
    assert point.label in shown
    for name in ("hardware", "model", "accuracy"):
        assert name in shown
    assert f"{100 * point.accuracy:.1f} %" in shown
    page.mouse.move(box["x"] - 30, box["y"] - 60)
    assert not tip.is_visible()


def test_the_tooltip_stays_inside_the_window(opened: Opened) -> None:
    page = opened.page
    for svg in page.locator(".chart svg").all():
        svg.focus()
        for key in ("ArrowRight", "ArrowLeft", "ArrowLeft"):
            page.keyboard.press(key)
            inside = page.evaluate(
                """() => { const b = document.getElementById("tip").getBoundingClientRect();
                  return b.width > 0 && b.left >= 0 && b.right <= innerWidth; }"""
            )
            assert inside


def test_the_keyboard_reads_the_points_in_order(
    opened: Opened, validation: ValidationResult
) -> None:
    page = opened.page
    page.locator(".chart svg").first.focus()
    labels = []
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        labels.append(page.locator("#tip b").inner_text())
    assert labels == [point.label for point in validation.series[0].points[:3]]
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()


def test_dark_mode_follows_the_system_and_the_button(browser: Browser, file: Path) -> None:
    grounds = {}
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(file.as_uri())
        grounds[scheme] = ground(page)
        page.locator("#theme").click()
        grounds[f"{scheme}, pressed"] = ground(page)
        page.reload()
        grounds[f"{scheme}, reloaded"] = ground(page)
        context.close()
    assert grounds["light"] != grounds["dark"]
    assert grounds["light, pressed"] == grounds["light, reloaded"] == grounds["dark"]
    assert grounds["dark, pressed"] == grounds["dark, reloaded"] == grounds["light"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(browser: Browser, file: Path, scheme: Any) -> None:
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.goto(file.as_uri())
    colours = page.evaluate(
        """() => ["--card", "--text", "--soft", "--s0", "--s1", "--s2", "--s3"].map((name) => {
          document.body.style.color = `var(${name})`;
          return getComputedStyle(document.body).color.match(/[0-9]+/g).map(Number);
        })"""
    )
    card, *inks = (_luminance(colour) for colour in colours)
    for ink in inks:
        low, high = sorted((card, ink))
        assert (high + 0.05) / (low + 0.05) >= 4.5  # WCAG 2, level AA
    context.close()


def test_without_its_script_it_still_shows_everything(
    browser: Browser, file: Path, validation: ValidationResult
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator("path.model[data-series]").count() == len(validation.series)
    assert page.locator("#summary tbody tr").count() == len(validation.series)
    context.close()


def test_every_chart_has_a_name_and_a_table_of_its_numbers(
    opened: Opened, validation: ValidationResult
) -> None:
    for svg in opened.page.locator("svg").all():
        assert svg.get_attribute("role") == "img"
        assert "mean accuracy" in (svg.get_attribute("aria-label") or "")
    rows = opened.page.locator("article details tbody tr").count()
    assert rows == sum(series.n for series in validation.series)


def test_the_page_shows_the_parameters_of_the_model_and_the_sources_of_the_data(
    opened: Opened, validation: ValidationResult
) -> None:
    rows = opened.page.locator("#model tbody tr")
    assert rows.count() == len(validation.model.parameters)
    sources = opened.page.locator("#sources").inner_text()
    for series in validation.series:
        assert series.source in sources


def test_text_from_outside_cannot_become_markup(browser: Browser, tmp_path: Path) -> None:
    evil = "</script><script>document.title=1</script><b id=evil>"
    validation = nearfar.validate("model:optane-100", "contention", core=StandIn())
    data = json.loads(json.dumps(validation.to_dict()).replace("read beside", evil))
    data["target"]["spec"] = data["model"]["description"] = evil
    document = nearfar.results.parse(data)
    assert isinstance(document, ValidationResult)
    file = tmp_path / "page.html"
    file.write_text(validation_page(document), encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    assert page.locator("#evil").count() == 0
    assert page.title().endswith("against hardware")
    assert _targets(page)
    page.close()


def _targets(page: Page) -> list[list[Any]]:
    found: list[list[Any]] = json.loads(
        page.locator("#targets").inner_text()
        or page.evaluate("document.getElementById('targets').textContent")
    )
    return found


def _luminance(colour: list[int]) -> float:
    """Relative luminance of WCAG 2."""
    linear = [
        value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4
        for value in (channel / 255 for channel in colour[:3])
    ]
    return sum(
        weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True)
    )
