"""Quantities are read exactly, written so that they read back, and refused with a reason."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.model.units import BYTES, CLOCK, ENERGY, POWER, RATE, TIME, format_quantity, parse

EXACT = [BYTES, TIME, RATE, POWER, ENERGY]


@given(st.sampled_from(EXACT), st.integers(min_value=0, max_value=10**18))
def test_a_written_quantity_reads_back(dimension, value):
    assert parse(format_quantity(value, dimension), dimension) == value


@given(st.integers(min_value=1, max_value=10**9))
def test_a_written_clock_reads_back(period):
    assert parse(format_quantity(period, CLOCK), CLOCK) == period


@given(
    st.sampled_from([(d, u) for d in EXACT for u in d.units]),
    st.integers(min_value=0, max_value=10**9),
    st.integers(min_value=0, max_value=999),
    st.sampled_from(["", " ", "  "]),
)
def test_reading_is_exact_multiplication(pair, whole, thousandths, space):
    dimension, unit = pair
    value = (Fraction(whole) + Fraction(thousandths, 1000)) * dimension.units[unit]
    text = f"{whole}.{thousandths:03}{space}{unit}"
    if value.denominator == 1:
        assert parse(text, dimension) == value
    else:
        with pytest.raises(ValueError, match="expected a whole number of"):
            parse(text, dimension)


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("16 KiB", BYTES, 16384),
        ("4KiB", BYTES, 4096),
        ("0.5 KiB", BYTES, 512),
        ("64 B", BYTES, 64),
        ("2 GiB", BYTES, 2 << 30),
        ("137 ns", TIME, 137_000),
        ("52.1 us", TIME, 52_100_000),
        ("1 ps", TIME, 1),
        ("2666 MT/s", RATE, 2666),
        ("15 W", POWER, 15_000),
        ("12.5 W", POWER, 12_500),
        ("1.5 nJ", ENERGY, 1500),
        # The clocks of JEDEC's speed grades, from their data rates.
        ("2400 MT/s", CLOCK, 833),
        ("2666 MT/s", CLOCK, 750),
        ("2933 MT/s", CLOCK, 682),
        ("3200 MT/s", CLOCK, 625),
        ("2.2 GHz", CLOCK, 455),
        ("1333 MHz", CLOCK, 750),
        ("750 ps", CLOCK, 750),
    ],
)
def test_known_quantities_are_read_with_their_units(text, dimension, value):
    assert parse(text, dimension) == value


@pytest.mark.parametrize(
    ("text", "dimension", "message"),
    [
        ("16", BYTES, "found '16' without a unit, expected a size such as '16 KiB'"),
        ("16 kib", BYTES, "found unit 'kib', .* did you mean '16 KiB'"),
        ("16 K", BYTES, "found unit 'K', .* did you mean '16 KiB'"),
        ("16 MB", BYTES, "found unit 'MB', expected a size in B, KiB, MiB, GiB, TiB"),
        ("4 QiB", BYTES, "expected a size in B, KiB, MiB, GiB, TiB$"),  # like none of them most
        ("137 nS", TIME, "did you mean '137 ns'"),
        ("137 ns", BYTES, "found unit 'ns', expected a size"),
        ("16 KiB", TIME, "found unit 'KiB', expected a time"),
        ("", TIME, "found '', expected a time such as '137 ns'"),
        ("ns", TIME, "found 'ns', expected a time"),
        ("1e3 ns", TIME, "found unit 'e3'|found '1e3 ns'"),
        ("0x10 B", BYTES, "found"),
        ("1_000 B", BYTES, "found"),
        ("nan ns", TIME, "found 'nan ns'"),
        ("inf ns", TIME, "found 'inf ns'"),
        ("\u0661 ns", TIME, "found"),  # a digit, but not one of ours
        ("0.5 ps", TIME, "expected a whole number of ps"),
        ("0.3 B", BYTES, "expected a whole number of B"),
        ("0 GHz", CLOCK, "expected a clock above zero"),
        ("-1 GHz", CLOCK, "expected a clock above zero"),
    ],
)
def test_text_that_is_no_quantity_is_refused_with_the_expected_form(text, dimension, message):
    with pytest.raises(ValueError, match=message):
        parse(text, dimension)


@given(st.text(), st.sampled_from([*EXACT, CLOCK]))
def test_any_text_is_read_or_refused_in_words(text, dimension):
    try:
        result = parse(text, dimension)
    except ValueError as error:
        result = str(error)
    assert isinstance(result, int) or "expected" in result
