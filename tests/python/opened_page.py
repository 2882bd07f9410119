"""A page opened in headless Chromium without a network, and what holds for every page."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
NEEDED = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium")
_ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


class Opened:
    """A page, with everything it said and asked for while it was open."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))


@contextmanager
def launched() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_ARGUMENTS))
        yield browser
        browser.close()


class EveryPage:
    """Tests of any page: a class of tests derives from it, with a fixture `file` at hand."""

    def test_it_asks_for_nothing_and_complains_about_nothing(
        self, opened: Opened, file: Path
    ) -> None:
        for svg in opened.page.locator("svg").all():
            svg.hover()
        opened.page.locator("#theme").click()
        assert opened.said == []
        assert opened.asked == [file.as_uri()]

    def test_the_file_refers_to_nothing_outside(self, file: Path) -> None:
        text = file.read_text(encoding="utf-8")
        references = re.findall(r"""(?:src|href|action|data)=["']?([^"'\s>]+)|url\(([^)]*)""", text)
        for reference in (found for pair in references for found in pair if found):
            assert reference.startswith(("#", "data:")), reference
        assert "@import" not in text

    def test_a_phone_scrolls_down_only(self, browser: Browser, file: Path) -> None:
        context = browser.new_context(viewport={"width": 360, "height": 780})
        page = context.new_page()
        page.goto(file.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        context.close()
