"""What all Python tests share: reproducible property tests, and no silent skips in CI."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

settings.register_profile("reproducible", derandomize=True, deadline=None)
settings.load_profile("reproducible")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a test skipped for want of a capability is a test that did not pass."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    skipped = len(reporter.stats.get("skipped", []))
    if os.environ.get("CI") == "true" and skipped and session.exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"CI: {skipped} skipped tests count as failures", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
