"""What all Python tests share: reproducible property tests, and no silent skips in CI."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

settings.register_profile("reproducible", derandomize=True, deadline=None)
settings.load_profile("reproducible")

# Files with tests that take long, first: two processes then end at about the same time.
LONGEST = (
    "test_examples", "test_published", "test_tier_stress", "test_infer_caches",
    "test_tier_programs", "test_tier_hazards", "test_persistency", "test_infer_curves",
    "test_tier_windows", "test_compare", "test_memory_mode", "test_probe_caches",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        return LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST)

    items.sort(key=place)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a test skipped for want of a capability is a test that did not pass."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    skipped = len(reporter.stats.get("skipped", []))
    if os.environ.get("CI") == "true" and skipped and session.exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"CI: {skipped} skipped tests count as failures", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
