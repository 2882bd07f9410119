"""Text reports, the numbers in them, the axes of charts, and the progress bar."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as some

import nearfar
from nearfar import Chase, Overwrite
from nearfar.cli.progress import ProgressBar, duration
from nearfar.report.chart import draw
from nearfar.report.scale import LogScale, binary_ticks, decimal_ticks, linear_ticks, log_span
from nearfar.report.text import result_text, table, validation_text
from nearfar.results import ComparedPoint, ComparedSeries
from nearfar.results.wording import number, size
from standin import StandIn

MODEL = "model:optane-100"


# Words and numbers


@pytest.mark.parametrize(
    ("value", "shown"),
    [(64, "64 B"), (4096, "4 KiB"), (5376, "5.25 KiB"), (1 << 20, "1 MiB"), (3 << 29, "1.5 GiB")],
)
def test_sizes_are_shown_in_the_largest_unit(value: int, shown: str) -> None:
    assert size(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (0.000123, "0.000123"),
        (0.365, "0.365"),
        (12.0, "12"),
        (175.25, "175.2"),
        (999.96, "1000"),
        (52125.45, "52 125"),
        (1234567.0, "1 234 567"),
    ],
)
def test_numbers_have_four_digits_and_no_exponent(value: float, shown: str) -> None:
    assert number(value) == shown


@given(some.floats(1e-5, 1e15))
def test_a_shown_number_is_within_half_a_per_mille(value: float) -> None:
    assert float(number(value).replace(" ", "")) == pytest.approx(value, rel=6e-4, abs=1e-6)


# Tables


def test_columns_line_up() -> None:
    text = table(("a", "b"), [("x", "1"), ("long", "22")], "<>")
    assert text == "a      b\nx      1\nlong  22\n"


def test_a_result_shows_only_the_columns_it_has() -> None:
    text = result_text(nearfar.measure(MODEL, Chase(region="4KiB", op="ntstore"), core=StandIn()))
    head, columns, row = text.splitlines()
    assert head == "model:optane-100: chase (simulated)"
    assert columns.split() == [
        *("region", "block", "op", "threads", "ns/line", "GB/s", "write", "amp."),
    ]
    assert row.split() == ["4", "KiB", "64", "B", "ntstore", "1", "20", "3.200", "2"]


def test_an_overwrite_shows_its_stalls() -> None:
    text = result_text(nearfar.measure(MODEL, Overwrite(writes=5000), core=StandIn()))
    assert re.search(r"stalls +stall ns +every \(writes\)", text)
    assert re.search(r" 5 +50 000 +1 000 ", text)


def test_a_validation_ends_with_all_points_counting_once() -> None:
    validation = nearfar.validate(MODEL, "chase-1dimm-4096,contention", core=StandIn())
    *_, last = validation_text(validation).splitlines()
    name, count, mean, worst, *_ = last.split()
    accuracies = [point.accuracy for series in validation.series for point in series.points]
    assert (name, count) == ("all", str(len(accuracies)))
    assert mean == f"{sum(accuracies) / len(accuracies):.3f}"
    assert worst == f"{min(accuracies):.3f}"


# Axes and charts


@given(some.floats(1e-3, 1e6), some.floats(1.001, 1e6))
def test_a_logarithmic_axis_keeps_ratios(low: float, span: float) -> None:
    scale = LogScale(low, low * span, 100, 500)
    assert scale(low) == pytest.approx(100)
    assert scale(low * span) == pytest.approx(500)
    assert scale(low * span**0.5) == pytest.approx(300)


@given(some.floats(1e-3, 1e6), some.floats(2, 1e7))
def test_ticks_lie_inside_and_can_be_read(low: float, span: float) -> None:
    ticks = decimal_ticks(low, low * span)
    assert all(low <= tick.at <= low * span for tick in ticks)
    assert 3 <= len(ticks) <= 12
    assert len({tick.label for tick in ticks}) == len(ticks)
    assert all(
        float(tick.label.replace(" ", "")) == pytest.approx(tick.at, rel=1e-3, abs=1e-6)
        for tick in ticks
    )


@given(some.floats(0, 1e6), some.floats(1e-3, 1e6), some.integers(3, 10))
def test_ticks_of_a_linear_axis_are_multiples_of_a_round_step(
    low: float, span: float, wanted: int
) -> None:
    ticks = [tick.at for tick in linear_ticks(low, low + span, wanted)]
    assert wanted / 2.6 - 1 <= len(ticks) <= wanted + 1
    slack = 1e-6 * (low + span)
    assert all(low - slack <= at <= low + span + slack for at in ticks)


@given(some.integers(6, 30), some.integers(2, 24))
def test_ticks_of_sizes_are_powers_of_two(low: int, span: int) -> None:
    ticks = binary_ticks(2.0**low, 2.0 ** (low + span))
    assert 1 <= len(ticks) <= 8
    assert all(int(tick.at) & (int(tick.at) - 1) == 0 for tick in ticks)


@given(some.lists(some.floats(1e-3, 1e9), min_size=1, max_size=20))
def test_a_span_shows_every_value_and_never_magnifies_noise(values: list[float]) -> None:
    low, high = log_span(values)
    assert low < min(values)
    assert max(values) < high
    assert high / low >= 2 * (1 - 1e-9)


def series(
    count: int, *, axis: bool, units: tuple[str, ...] = ("ns",), real: float = 100.0
) -> ComparedSeries:
    points = tuple(
        ComparedPoint(
            f"p{i}", units[i % len(units)], real, 90.0, 0.9, 64.0 * (i + 1) if axis else None
        )
        for i in range(count)
    )
    return ComparedSeries(
        *("s", "S", "d", "a paper"),
        *(count, 0.9, 0.9, "p0", 1.0, 0.1),
        points=points,
        x_name="region" if axis else "",
        x_unit="B" if axis else "",
    )


def test_the_kind_of_chart_follows_the_data() -> None:
    assert 'class="accuracy' in draw("c", "t", [series(5, axis=True)]).svg
    assert 'class="hardware diagonal"' in draw("c", "t", [series(40, axis=False)]).svg
    assert 'class="row-name"' in draw("c", "t", [series(5, axis=False)]).svg
    mixed = [series(40, axis=False, units=("ns", "x"))]
    assert 'class="row-name"' in draw("c", "t", mixed).svg


@pytest.mark.parametrize("axis", [True, False])
@pytest.mark.parametrize("count", [1, 5, 40])
def test_every_point_can_be_hovered(axis: bool, count: int) -> None:
    chart = draw("c", "t", [series(count, axis=axis), series(count, axis=axis)])
    assert len(chart.targets) == 2 * count
    assert {target[3] for target in chart.targets} == {0, 1}


def test_a_model_that_gives_nothing_still_draws() -> None:
    point = ComparedPoint("p", "ns", 100.0, 0.0, 0.0)
    nothing = ComparedSeries(*("s", "S", "d", "a paper"), *(1, 0.0, 0.0, "p", 1.0, 6.9), (point,))
    assert "nan" not in draw("c", "t", [nothing]).svg
    assert "inf" not in draw("c", "t", [nothing]).svg


# Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_shows_a_bar_and_an_estimate_and_leaves_nothing_behind() -> None:
    stream = Terminal()
    with ProgressBar("working", quiet=False, stream=stream) as progress:
        progress(4, 4)
        assert "4/4" in stream.getvalue()
        assert "left" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_progress_tells_no_time_left_before_anything_is_done() -> None:
    stream = Terminal()
    with ProgressBar("working", quiet=False, stream=stream) as progress:
        progress(0, 0)
        assert "left" not in stream.getvalue()


@pytest.mark.parametrize(("stream", "quiet"), [(io.StringIO(), False), (Terminal(), True)])
def test_progress_is_silent_off_a_terminal_and_when_quiet(stream: io.StringIO, quiet: bool) -> None:
    with ProgressBar("working", quiet=quiet, stream=stream) as progress:
        progress(1, 1)
    assert stream.getvalue() == ""


def test_progress_of_a_file_counts_in_its_unit() -> None:
    stream = Terminal()
    with ProgressBar("r", quiet=False, scale=1 << 20, unit="MiB", stream=stream) as progress:
        progress(5 << 19, 5 << 19)
    assert "3/3 MiB" in stream.getvalue()


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.4, "0 s"), (59, "59 s"), (75, "1 min 15 s"), (7260, "2 h 01 min")]
)
def test_durations_are_short(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown
