"""The page of a swept study: opens offline, small, with every point's result one click away."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nearfar.cli import main as cli
from nearfar.cli.works import parse_work
from nearfar.report.documents import page
from nearfar.results import SweepPoint, SweepResult
from nearfar.sweeping.ranges import parse_range
from nearfar.sweeping.show import read_sweep
from nearfar.sweeping.study import Study
from nearfar.sweeping.sweep import sweep
from opened_page import NEEDED, EveryPage, Opened

MOST_BYTES = 3_000_000


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 points of three keys."""
    path = tmp_path_factory.mktemp("page") / "p.db"
    ranges = {
        "region": parse_range("region", "4KiB..64KiB:x2"),
        "nvdimm.rmw.entries": parse_range("e", "64..576:128"),
        "channels": parse_range("c", "1,2"),
        "nvdimm.media.read_latency": parse_range("l", "100ns..250ns:50ns"),
    }
    work = ("measure chase --region {region} --lines 64 --op ntload",)
    sweep(Study("page", ("model:optane-100",), work, ranges), path, parse_work)
    return path


@pytest.fixture(scope="module")
def file(store: Path) -> Path:
    html = store.with_suffix(".html")
    assert cli.main(["sweep", "show", str(store), "--html", str(html), "--quiet"]) == 0
    return html


@NEEDED
class TestPage(EveryPage):
    def test_every_point_opens_to_its_full_result_by_one_click(
        self, opened: Opened, store: Path
    ) -> None:
        points = read_sweep(store, whole=True).points
        assert len(points) == 200
        shown = opened.page.locator("details[id^=point-]")
        assert shown.count() == 200
        for at in (0, 99, 199):
            point = opened.page.locator(f"#point-{points[at].id[:16]}")
            assert not point.locator("pre").is_visible()
            point.locator("summary").click()
            assert json.loads(point.locator("pre").inner_text()) == points[at].result

    def test_it_draws_curves_maps_coordinates_and_a_front(self, opened: Opened) -> None:
        titles = opened.page.locator("article h3").all_inner_texts()
        assert "ns_per_line over region" in titles
        assert "ns_per_line by region and nvdimm.rmw.entries" in titles
        assert "All points, everything that varies" in titles
        assert "gb_per_s against ns_per_line" in titles
        assert opened.page.locator("path.across").count() == 200

    def test_it_is_light_and_dark(self, opened: Opened) -> None:
        def ground() -> str:
            return str(opened.page.evaluate("getComputedStyle(document.body).backgroundColor"))

        before = ground()
        opened.page.locator("#theme").click()
        assert ground() != before


def test_a_page_of_200_points_is_small(file: Path) -> None:
    assert file.stat().st_size < MOST_BYTES


def test_results_beyond_what_a_page_has_room_for_are_named_by_their_command() -> None:
    points = [
        SweepPoint(
            *(f"{at:064x}", "model:m", "w", {"k": str(at)}, "done", ""),
            *({"f": 1.0}, ["x" * 10_000]),
        )
        for at in range(300)
    ]
    result = SweepResult("s", "s.db", "1", ("model:m",), ("w",), ("k",), ("f",), points)
    text = page([result])
    assert len(text.encode()) < MOST_BYTES
    assert f"nearfar sweep show s.db --point {points[299].id[:16]}" in text


def test_a_saved_study_makes_the_same_page(
    nearfar: Callable[..., tuple[int, str, str]], store: Path, file: Path, tmp_path: Path
) -> None:
    saved, made = tmp_path / "s.json", tmp_path / "s.html"
    nearfar("sweep", "show", str(store), "--json", str(saved), "--quiet")
    assert nearfar("report", str(saved), "-o", str(made))[0] == 0
    assert made.read_text() == file.read_text()
