"""What a key may be in a sweep: lists, steps, factors, draws."""

from __future__ import annotations

import pytest

from nearfar.errors import InputError
from nearfar.sweeping.designs import Design, parse_design, rows
from nearfar.sweeping.ranges import parse_range, values_range


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,2,6", ["1", "2", "6"]),
        ("lru, s3-fifo", ["lru", "s3-fifo"]),
        ("1..4", ["1", "2", "3", "4"]),
        ("0..100:40", ["0", "40", "80"]),
        ("16..256:x2", ["16", "32", "64", "128", "256"]),
        ("16..200:x2", ["16", "32", "64", "128"]),
        ("512B..4KiB:x2", ["512B", "1KiB", "2KiB", "4KiB"]),
        ("1KiB..1MiB:x32", ["1KiB", "32KiB", "1MiB"]),
        ("50ns..1us:500ns", ["50ns", "550ns"]),
        ("1us..2us:500ns", ["1000ns", "1500ns", "2000ns"]),
        ("1.0..2.0:0.5", ["1", "1.5", "2"]),
        ("1..1000:log4", ["1", "10", "100", "1000"]),
        ("1..3:log9", ["1", "2", "3"]),
        ("5..6:0.5", ["5", "5.5", "6"]),
    ],
)
def test_a_range_names_its_values(text: str, values: list[str]) -> None:
    assert list(parse_range("k", text).values) == values


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "k: found an empty value"),
        ("1,,2", "k: found an empty value"),
        ("1,2,1", "k: found 1 twice"),
        ("6..1", "expected the lower end first"),
        ("1..x", "k: found 'x' in '1..x', expected a number"),
        ("1..9:", "nothing after ':'"),
        ("1..9:x1", "expected a factor above 1"),
        ("0..9:x2", "expected a factor above 1 and ends above 0"),
        ("0..9:log3", "expected ends above 0"),
        ("1..9:0", "expected a step above 0"),
        ("1..9:wide", "k: found ':wide'"),
        ("1..9:random1", "expected 2 to"),
        ("1ns..4KiB:x2", "different units"),
        ("1..4,8", "a list or a range, not both"),
        ("1..100000000:1", "expected a step above 0, of a few values"),
    ],
)
def test_a_range_that_cannot_be_names_its_key_and_what_was_expected(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_range("k", text)
    assert said in str(refused.value)
    assert str(refused.value).startswith("k: ")


def test_keys_are_crossed_with_the_last_one_fastest() -> None:
    ranges = {"a": parse_range("a", "1,2"), "b": values_range("b", [True, "x"])}
    assert [(row["a"], row["b"]) for row in rows(ranges, None, 1)] == [
        *(("1", "true"), ("1", "x")),
        *(("2", "true"), ("2", "x")),
    ]


def test_draws_are_the_same_for_the_same_seed_and_lie_in_the_range() -> None:
    ranges = {"a": parse_range("a", "50ns..90ns:random30")}
    found = [int(row["a"].removesuffix("ns")) for row in rows(ranges, None, 7)]
    assert found == [int(row["a"].removesuffix("ns")) for row in rows(ranges, None, 7)]
    assert found != [int(row["a"].removesuffix("ns")) for row in rows(ranges, None, 8)]
    assert len(found) == 30
    assert all(50 <= value <= 90 for value in found)


def test_a_latin_hypercube_has_one_value_in_each_stratum_of_every_key() -> None:
    ranges = {key: parse_range(key, "0.0..10.0:lhs10") for key in ("a", "b")}
    found = rows(ranges, None, 3)
    for key in ranges:
        assert sorted(int(float(row[key])) for row in found) == list(range(10))
    assert [row["a"] for row in found] != [row["b"] for row in found]


def test_drawn_keys_are_drawn_together_and_crossed_with_the_others() -> None:
    ranges = {
        "a": parse_range("a", "1..9:random4"),
        "b": parse_range("b", "1,2"),
        "c": parse_range("c", "1..9:lhs4"),
    }
    found = rows(ranges, None, 1)
    assert len(found) == 8
    assert list(found[0]) == ["a", "b", "c"]


def test_draws_of_different_counts_are_refused() -> None:
    ranges = {"a": parse_range("a", "1..9:random4"), "b": parse_range("b", "1..9:random5")}
    with pytest.raises(InputError, match="different counts"):
        rows(ranges, None, 1)


def test_a_range_without_values_is_refused_on_a_grid() -> None:
    with pytest.raises(InputError, match="which names no values; add :STEP"):
        rows({"a": parse_range("a", "50ns..90ns")}, None, 1)


@pytest.mark.parametrize("text", ["1,2", "1..9:2", "1..8:x2", "1..9:random4"])
def test_a_design_is_refused_on_a_grid(text: str) -> None:
    ranges = {"a": parse_range("a", text), "b": parse_range("b", "1..9")}
    with pytest.raises(InputError, match="a design needs points of its own"):
        rows(ranges, Design("morris", 4), 1)


@pytest.mark.parametrize("text", ["moris:4", "morris", "morris:1", "sobol:6", "sobol:x"])
def test_a_design_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^design: found"):
        parse_design(text)


def test_designs_have_as_many_points_as_their_methods_take() -> None:
    ranges = {key: parse_range(key, "0.0..1.0") for key in ("a", "b", "c")}
    assert len(rows(ranges, Design("morris", 5), 1)) == 5 * (3 + 1)
    assert len(rows(ranges, Design("sobol", 8), 1)) == 8 * (3 + 2)
