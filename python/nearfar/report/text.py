"""Results as text for a terminal: aligned columns, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from nearfar.results import MeasureResult, Point, ReplayResult, ValidationResult
from nearfar.results.coverage import Coverage
from nearfar.results.wording import energy_shares, joules, number, size


def table(header: Sequence[str], rows: Iterable[Sequence[str]], align: str) -> str:
    """Columns as wide as their widest cell; `align` has "<" or ">" for each."""
    lines = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "".join(
        "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(line, align, widths, strict=True)
        ).rstrip()
        + "\n"
        for line in lines
    )


def result_text(result: MeasureResult) -> str:
    """The points of a measurement, one a line."""
    kind = result.pattern["kind"]
    head = f"{result.target.spec}: {kind} ({result.target.mode})\n"
    if result.interrupted:
        head += "interrupted: only the finished points are shown\n"
    if not result.points:
        return head
    columns = [(name, [cell(point) for point in result.points]) for name, cell in _COLUMNS]
    used = [(name, cells) for name, cells in columns if any(cells)]
    rows = zip(*(cells for _, cells in used), strict=True)
    return head + table([name for name, _ in used], rows, ">" * len(used)) + _queued(result.points)


_UNSTEADY = 0.01  # of the time measured


def _queued(points: Sequence[Point]) -> str:
    """What a rate counts where much of it was still in queues when counting ended."""
    found = [
        one.drain_ns / one.elapsed_ns
        for one in points
        if one.drain_ns is not None and one.drain_ns > _UNSTEADY * one.elapsed_ns
    ]
    if not found:
        return ""
    return (
        "note: rates count lines that memory accepted; those still queued at the end took up to "
        f"{100 * max(found):.0f} % of the time measured to leave its queues: give more --lines\n"
    )


def validation_text(validation: ValidationResult) -> str:
    """One line a series: how many points, mean and worst accuracy, and what is possible."""
    rows: list[tuple[str, ...]] = [
        (
            series.name,
            str(series.n),
            f"{series.mean:.3f}",
            f"{series.worst:.3f}",
            f"{series.ceiling:.3f}",
            f"{series.mean_abs_log:.3f}",
            series.worst_point,
        )
        for series in validation.series
    ]
    if len(rows) > 1:
        rows.append(_total(validation))
    header = ("series", "points", "mean", "worst", "ceiling", "|ln m/h|", "worst at")
    text = f"{validation.target.spec} against published measurements"
    text += " (a subset: --quick)\n" if validation.quick else "\n"
    if validation.interrupted:
        text += "interrupted: only the finished points are counted\n"
    return text + table(header, rows, "<>>>>><") + _shapes(validation) + _orderings(validation)


def _shapes(validation: ValidationResult) -> str:
    """How many features of the curves the model shows like the hardware, and which it does not."""
    found = [(series, one) for series in validation.series for one in series.shape]
    if not found:
        return ""
    wrong = [(series, one) for series, one in found if not one.right]
    head = f"\nshape: {len(found) - len(wrong)} of {len(found)} features of curves are right"
    if not wrong:
        return head + "\n"
    rows = [
        (series.name, one.curve, one.feature, one.real, one.simulated)
        for series, one in wrong[:_SHOWN_SHAPES]
    ]
    more = len(wrong) - len(rows)
    note = f"...and {more} more; --json has them all\n" if more else ""
    header = ("not in", "curve", "feature", "hardware", "model")
    return head + "\n" + table(header, rows, "<<<>>") + note


_SHOWN_SHAPES = 20


def _orderings(validation: ValidationResult) -> str:
    """How many pairs of figures the model orders like the hardware, and which it does not."""
    found = [(series, one) for series in validation.series for one in series.orderings]
    if not found:
        return ""
    wrong = [(series, one) for series, one in found if not one.right]
    head = f"\norderings: {len(found) - len(wrong)} of {len(found)} pairs of figures are right\n"
    if not wrong:
        return head

    def values(pair: Sequence[float]) -> str:
        low, high = pair
        return f"{low:.2f} {'<' if low < high else '>='} {high:.2f}"

    rows = [
        (series.name, one.lower, one.higher, values(one.real), values(one.simulated))
        for series, one in wrong
    ]
    header = ("not in", "lower", "higher", "hardware", "model")
    return head + "\n" + table(header, rows, "<<<>>")


def _total(validation: ValidationResult) -> tuple[str, ...]:
    """All points of all series, each counting once."""
    series = validation.series
    points = sum(one.n for one in series)
    worst = min(series, key=lambda one: one.worst)
    means = [
        sum(getattr(one, name) * one.n for one in series) / points
        for name in ("mean", "ceiling", "mean_abs_log")
    ]
    mean, ceiling, log = (f"{value:.3f}" for value in means)
    return ("all", str(points), mean, f"{worst.worst:.3f}", ceiling, log, worst.name)


def coverage_text(coverage: Coverage) -> str:
    """What there is to compare with: datasets, then tables, then single figures."""
    datasets = [
        (one.name, one.machine, str(one.series), str(one.points), one.meaning)
        for one in coverage.datasets
    ]
    tables: list[tuple[str, ...]] = []
    for one in coverage.tables:
        named = (one.table, str(one.rows))
        for state, parts in (("compared by", one.compared), ("not compared:", one.left_out)):
            for what, rows in parts.items():
                tables.append((*named, str(rows), f"{state} {what}"))
                named = ("", "")
    figures = [
        (
            one.name,
            one.value,
            f"compared by {', '.join(one.compared)}" if one.compared else f"not: {one.reason}",
        )
        for one in coverage.figures
    ]
    header = ("dataset", "machine", "series", "points", "what")
    text = f"Published measurements in {coverage.origin}\n\n"
    text += table(header, datasets, "<<>><") + "\n"
    text += table(("table", "rows", "of these", "status"), tables, "<>><")
    if figures:
        text += "\n" + table(("single figure", "value", "status"), figures, "<<<")
    return text


def replay_text(replayed: ReplayResult) -> str:
    """What a trace did, one figure a line."""
    rows = [
        ("requests", str(replayed.requests)),
        *([("fences", str(replayed.fences))] if replayed.fences else []),
        ("elapsed", f"{number(replayed.elapsed_ps / 1000)} ns"),
        *_bandwidth(replayed),
        *(
            (f"read latency {name}", f"{number(latency)} ns")
            for name, latency in (
                ("p50", replayed.read_p50_ns),
                ("p99", replayed.read_p99_ns),
                ("p99.9", replayed.read_p999_ns),
                ("max", replayed.read_max_ns),
            )
            if latency is not None
        ),
        *_energy(replayed),
        *_commands(replayed),
    ]
    width = max(len(name) for name, _ in rows)
    head = f"{replayed.target.spec}: {replayed.trace['file']}\n"
    return head + "".join(f"{name:{width}}  {value}\n" for name, value in rows)


def _bandwidth(replayed: ReplayResult) -> list[tuple[str, str]]:
    """Nothing where no time has passed; what it counts where writes were not waited for."""
    if replayed.gb_per_s is None:
        return []
    counted = "" if replayed.trace.get("drain") or not replayed.writes else " accepted, not drained"
    return [("bandwidth", f"{replayed.gb_per_s:.3f} GB/s{counted}")]


def _commands(replayed: ReplayResult) -> list[tuple[str, str]]:
    """DRAM commands by kind; where several devices take them, by device."""
    devices = replayed.commands_by_device
    if len(devices) < 2:
        return [(f"commands {kind}", str(count)) for kind, count in replayed.commands.items()]
    return [
        (
            f"commands {kind}",
            ", ".join(f"{n[kind]} {name}" for name, n in devices.items() if kind in n),
        )
        for kind in replayed.commands
    ]


def _energy(replayed: ReplayResult) -> list[tuple[str, str]]:
    """What it took and what for, the largest first; nothing of a model without currents."""
    if replayed.energy_pj is None:
        return []
    text = joules(replayed.energy_pj)
    if replayed.energy_pj_per_bit is not None:
        text += f", {number(replayed.energy_pj_per_bit)} pJ/bit"
    if replayed.average_power_w is not None:
        text += f", {number(replayed.average_power_w)} W"
    parts = energy_shares(replayed.energy)
    return [("energy", f"{text} ({parts})" if parts else text)]


def _optional_size(value: int | str | None) -> str:
    return "" if value is None else value if isinstance(value, str) else size(value)


def _optional_number(value: float | None) -> str:
    return "" if value is None else number(value)


def _interval(value: Sequence[float] | None) -> str:
    return "" if value is None else " to ".join(map(number, value))


def _delay(point: Point) -> str:
    """Of a curve's points, those without generators are idle."""
    if point.delay_ns is None:
        return "" if point.reads_percent is None else "idle"
    return f"{number(point.delay_ns)} ns"


_COLUMNS: tuple[tuple[str, Callable[[Point], str]], ...] = (
    ("region", lambda p: _optional_size(p.region_bytes)),
    ("block", lambda p: _optional_size(p.block_bytes)),
    ("access", lambda p: _optional_size(p.access_bytes)),
    ("stride", lambda p: _optional_size(p.stride_bytes)),
    ("op", lambda p: p.op),
    ("value", lambda p: p.value or ""),
    ("reads", lambda p: "" if p.reads_percent is None else f"{p.reads_percent} %"),
    ("delay", _delay),
    ("threads", lambda p: str(p.threads)),
    ("ns/line", lambda p: number(p.ns_per_line)),
    ("95 % interval", lambda p: _interval(p.interval_ns_per_line)),
    ("GB/s", lambda p: "" if p.reads_percent is not None else f"{p.gb_per_s:.3f}"),
    ("other GB/s", lambda p: _optional_number(p.other_gb_per_s)),
    ("read GB/s", lambda p: _optional_number(p.read_gb_per_s)),
    ("write GB/s", lambda p: _optional_number(p.write_gb_per_s)),
    ("total GB/s", lambda p: _optional_number(p.total_gb_per_s)),
    ("p50 ns", lambda p: _optional_number(p.p50_ns)),
    ("p99 ns", lambda p: _optional_number(p.p99_ns)),
    ("max ns", lambda p: _optional_number(p.max_ns)),
    ("stalls", lambda p: "" if p.stalls is None else str(p.stalls)),
    ("stall ns", lambda p: _optional_number(p.stall_ns)),
    ("every (writes)", lambda p: _optional_number(p.stall_interval_writes)),
    ("read amp.", lambda p: _optional_number(p.read_amplification)),
    ("write amp.", lambda p: _optional_number(p.write_amplification)),
    ("pJ/bit", lambda p: _optional_number(p.energy_pj_per_bit)),
    ("W", lambda p: _optional_number(p.average_power_w)),
)
