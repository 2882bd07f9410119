"""Which of two figures is the larger: which pairs have an order, and what the text says of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

import nearfar
from nearfar.report.text import validation_text
from nearfar.simulate.validation.orderings import ONE, Figure, pairs
from nearfar.simulate.validation.validate import select
from standin import StandIn

values = some.lists(some.floats(0.1, 100), min_size=2, max_size=8)


def figures(real: list[float], simulated: list[float]) -> list[Figure]:
    named = zip(real, simulated, strict=True)
    return [Figure(f"figure {i}", *pair) for i, pair in enumerate(named)]


@given(values, some.floats(0.01, 100))
def test_a_model_that_is_off_by_one_factor_has_every_order_right(
    real: list[float], factor: float
) -> None:
    found = pairs(figures(real, [factor * value for value in real]), ratios=False)
    assert all(pair.right for pair in found)


@given(values)
def test_a_model_with_everything_upside_down_has_every_order_wrong(real: list[float]) -> None:
    found = pairs(figures(real, [1 / value for value in real]), ratios=False)
    assert not any(pair.right for pair in found)


@given(values)
def test_each_pair_comes_once_with_the_lower_one_first(real: list[float]) -> None:
    found = pairs(figures(real, real), ratios=False)
    names = [frozenset((pair.lower.name, pair.higher.name)) for pair in found]
    assert len(set(names)) == len(names)
    assert all(pair.lower.real < 0.9 * pair.higher.real for pair in found)
    apart = sum(min(a, b) < 0.9 * max(a, b) for i, a in enumerate(real) for b in real[:i])
    assert len(found) == apart


def test_measurements_within_a_tenth_have_no_order() -> None:
    assert pairs(figures([2.2, 2.4], [9.0, 1.0]), ratios=False) == []


def test_figures_that_the_model_makes_equal_are_in_no_order() -> None:
    (pair,) = pairs(figures([1.0, 2.0], [1.5, 1.5]), ratios=False)
    assert not pair.right


def test_a_ratio_says_by_itself_which_of_two_runs_takes_longer() -> None:
    slower, same = pairs(figures([1.5, 0.5], [0.9, 0.8]), ratios=True)[:2]
    assert (slower.lower.name, slower.higher.name, slower.right) == (ONE, "figure 0", False)
    assert (same.lower.name, same.higher.name, same.right) == ("figure 1", ONE, True)


def test_validation_tells_how_many_orders_are_right_and_names_the_wrong_ones() -> None:
    validation = nearfar.validate("model:optane-100", "ict", core=StandIn())
    found = [one for series in validation.series for one in series.orderings]
    wrong = [one for one in found if not one.right]
    text = validation_text(validation)
    assert f"orderings: {len(found) - len(wrong)} of {len(found)} pairs of figures" in text
    # The stand-in's loads and stores take what they take, whatever memory they go to.
    assert wrong
    rows = text[text.index("orderings:") :].splitlines()
    assert len(rows) == 3 + len(wrong)
    assert all(
        one.lower in row and one.higher in row for one, row in zip(wrong, rows[3:], strict=True)
    )


def interval(printed: str) -> tuple[float, float]:
    """What a figure may be: a range as it stands, a number up to half of its last digit away."""
    low, _, high = printed.partition("-")
    half = 0.0 if high else 0.5 * 10.0 ** -len(low.partition(".")[2])
    return float(low) - half, float(high or low) + half


def test_no_judged_pair_is_a_tie_at_the_resolution_of_its_source() -> None:
    _, found = select("ict", "nvdimm")
    for one in found:
        printed = {point.label: interval(point.rows[0]["value"]) for point in one.points}
        printed[ONE] = (1.0, 1.0)
        judged = pairs([Figure(p.label, p.real, p.real) for p in one.points], ratios=True)
        assert judged
        for pair in judged:
            assert printed[pair.lower.name][1] < printed[pair.higher.name][0], pair


def test_only_a_study_of_ratios_is_asked_for_orders() -> None:
    validation = nearfar.validate("model:optane-100", "random-read", core=StandIn())
    assert all(not series.orderings for series in validation.series)
    assert "orderings" not in validation_text(validation)
