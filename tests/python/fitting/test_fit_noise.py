"""How uncertain a measured point is to a fit."""

from __future__ import annotations

import pytest

from nearfar.fitting.noise import UNEXPLAINED, noise
from nearfar.fitting.solve import FLOOR
from nearfar.measuring.patterns import Stream
from nearfar.simulate.validation.series import HardwarePoint, Job


def point(real: float = 10.0, **stream: object) -> HardwarePoint:
    given: dict[str, object] = {"op": "ntload", "access": 256, "stride": 256, "threads": 1}
    pattern = Stream(**{**given, **stream})  # type: ignore[arg-type]
    return HardwarePoint("p", real, "GB/s", Job(pattern), "gb_per_s")


def test_what_one_threads_loads_in_order_take_is_less_certain_than_other_points() -> None:
    points = [
        point(),
        point(stride=None),
        point(threads=4),
        point(stride="random"),
        point(op="ntstore"),
    ]
    assert noise(points) == pytest.approx([UNEXPLAINED] * 2 + [FLOOR] * 3)


def test_repeated_measurements_count_as_one_with_what_they_differ() -> None:
    found = noise([point(9.0, threads=2), point(11.0, threads=2), point(10.0, threads=3)])
    assert found[:2] == pytest.approx([((FLOOR**2 + 0.01) * 2) ** 0.5] * 2)
    assert found[2] == pytest.approx(FLOOR)
