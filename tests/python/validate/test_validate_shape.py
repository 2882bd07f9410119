"""The features of curves: what agrees, what does not, and what noise does to neither."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as some

from nearfar.simulate.validation.shape import Feature, Sample, features

RISING = [1.0, 2.0, 3.0, 3.9, 4.0]
COLLAPSING = [1.0, 2.0, 4.0, 3.0, 1.0]


def found(real: Sequence[float], simulated: Sequence[float]) -> dict[str, Feature]:
    samples = [
        ("curve", Sample(2.0**i, *pair)) for i, pair in enumerate(zip(real, simulated, strict=True))
    ]
    return {one.name: one for one in features(samples)}


@given(some.lists(some.floats(0.1, 100), min_size=3, max_size=12), some.floats(0.01, 100))
def test_a_curve_has_its_own_shape_whatever_its_scale(values: list[float], factor: float) -> None:
    assert all(one.right for one in found(values, [factor * value for value in values]).values())


def test_a_model_that_does_not_collapse_is_reported() -> None:
    seen = found(COLLAPSING, RISING)
    assert not seen["collapse"].right
    assert (seen["collapse"].real, seen["collapse"].simulated) == ("to 0.25", "to 1.00")
    assert not seen["peak"].right
    assert (seen["peak"].real, seen["peak"].simulated) == ("4", "16")
    assert not seen["order"].right


def test_a_knee_may_be_one_place_off_but_not_two() -> None:
    step = [1.0, 4.0, 4.0, 4.0, 4.0]
    assert found(step, [1.0, 3.0, 4.0, 4.0, 4.0])["knee"].right
    assert not found(step, [1.0, 2.0, 3.0, 4.0, 4.0])["knee"].right


def test_the_peak_may_be_anywhere_on_a_plateau() -> None:
    assert found([1.0, 4.0, 3.9, 3.8], [1.0, 3.0, 3.9, 4.0])["peak"].right


def test_places_that_differ_by_noise_have_no_order() -> None:
    assert "order" not in found([4.0, 4.1, 4.2], [3.0, 2.0, 1.0])


@pytest.mark.parametrize("places", [0, 1, 2])
def test_fewer_than_three_places_are_no_curve(places: int) -> None:
    assert not found(RISING[:places], RISING[:places])


def test_repeated_measurements_count_as_their_median() -> None:
    samples = [("c", Sample(x, real, x)) for x in (1.0, 2.0, 3.0) for real in (x, x, 100.0)]
    assert all(one.right for one in features(samples))


def test_curves_are_judged_apart() -> None:
    samples = [("up", Sample(x, x, x)) for x in (1.0, 2.0, 3.0)]
    samples += [("down", Sample(x, -x + 4, x)) for x in (1.0, 2.0, 3.0)]
    assert {one.curve for one in features(samples) if not one.right} == {"down"}
