"""Where cycles went: a bar for each thread, and over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nearfar.report import svg
from nearfar.report.frame import Target
from nearfar.report.picture import Picture, frame
from nearfar.report.scale import LinearScale, linear_ticks
from nearfar.report.time_axis import time_axis, unit_of
from nearfar.results.machine import Machine
from nearfar.results.totals import CAUSES
from nearfar.results.wording import number

# What a cause is drawn in: caches in blues, what waits for memory warm.
COLOURS = {
    "base": 6,
    "branch": 5,
    "l1": 7,
    "l2": 0,
    "l3": 8,
    "memory": 1,
    "tlb": 3,
    "store_queue": 2,
    "fence": 4,
}
_WIDTH, _LEFT, _RIGHT = 1120, 104, 20
_ROW, _BAR, _TOP = 34, 22, 10
_MOST_BARS = 17
_LETTER = 6.6  # of the labels inside a bar: about its width


def stack_bars(machine: Machine) -> Picture:
    """Cycles an instruction by cause: of all threads, then of each if there are several."""
    bars = [("all threads" if len(machine.threads) > 1 else "the thread", machine.core)]
    if len(machine.threads) > 1:
        bars += [(f"thread {n}", one) for n, one in enumerate(machine.threads)]
    found = [(name, _per_instruction(one.stack_ps, one.counts, machine)) for name, one in bars]
    shown = [(name, parts) for name, parts in found if parts][:_MOST_BARS]
    most = max((sum(parts.values()) for _, parts in shown), default=1.0)
    x = LinearScale(0.0, most * 1.02, _LEFT, _WIDTH - _RIGHT)
    bottom = _TOP + _ROW * len(shown)
    content = [_axis(x, bottom)]
    targets: list[Target] = []
    for at, (name, parts) in enumerate(shown):
        content.append(_bar(name, parts, x, _TOP + _ROW * at, targets))
    used = [cause for cause in COLOURS if any(parts.get(cause) for _, parts in shown)]
    head = ("", "cycles/instruction", *(CAUSES[cause] for cause in used))
    rows = [
        (name, number(sum(parts.values())), *(number(parts.get(cause, 0.0)) for cause in used))
        for name, parts in found
        if parts
    ]
    left_out = len([1 for _, parts in found if parts]) - len(shown)
    return Picture(
        title="Cycles for each instruction",
        svg=frame("".join(content), _WIDTH, bottom + 40, "Cycles an instruction by cause"),
        targets=targets,
        note=f"{left_out} more threads are in the table." if left_out else "",
        legend=[(COLOURS[cause], CAUSES[cause]) for cause in used],
        head=head,
        rows=rows,
        wide=True,
    )


def _per_instruction(
    stack: Mapping[str, int], counts: Mapping[str, int], machine: Machine
) -> dict[str, float]:
    instructions = counts.get("instructions", 0)
    if not instructions:
        return {}
    return {cause: ps / machine.period_ps / instructions for cause, ps in stack.items()}


def _bar(
    name: str, parts: Mapping[str, float], x: LinearScale, top: float, targets: list[Target]
) -> str:
    drawn = [svg.text(name, _LEFT - 10, top + _BAR / 2 + 4, class_="row-name flip")]
    sum_ = sum(parts.values())
    begin = 0.0
    for cause, colour in COLOURS.items():
        spent = parts.get(cause, 0.0)
        if spent <= 0:
            continue
        left, right = x(begin), x(begin + spent)
        begin += spent
        drawn.append(
            svg.element(
                "rect",
                x=left,
                y=top,
                width=max(right - left, 0.5),
                height=_BAR,
                class_=f"fill s{colour}",
                data_cause=cause,
            )
        )
        label = f"{cause.replace('_', ' ')} {spent:.2f}"
        if right - left > _LETTER * len(label) + 8:
            middle = (left + right) / 2
            drawn.append(svg.text(label, middle, top + _BAR / 2 + 4, class_="inside"))
        rows = (
            ("cycles/instruction", number(spent)),
            ("share", f"{100 * spent / sum_:.1f} %"),
        )
        at = (left + right) / 2
        middle = top + _BAR / 2
        targets.append((round(at, 1), middle, middle, colour, f"{name}: {CAUSES[cause]}", rows))
    return "".join(drawn)


def _axis(x: LinearScale, bottom: float) -> str:
    ticks = "".join(
        svg.line(x(tick.at), _TOP - 4, x(tick.at), bottom, "grid")
        + svg.text(tick.label, x(tick.at), bottom + 12, class_="tick x")
        for tick in linear_ticks(x.low, x.high, 8)
    )
    return ticks + svg.text("cycles", (x.start + x.end) / 2, bottom + 34, class_="axis-name")


_HEIGHT, _TIME_TOP, _TIME_BOTTOM, _TIME_LEFT = 260, 24, 206, 48


def stack_over_time(machine: Machine) -> Picture | None:
    """How many threads were busy with what, over time; None when nothing ran."""
    over = machine.over_time
    causes = [cause for cause in COLOURS if any(over.stack_ps.get(cause, ()))]
    if not causes:
        return None
    columns = list(zip(*(over.stack_ps[cause] for cause in causes), strict=True))
    ends = [min((i + 1) * over.bucket_ns, machine.time_ns) for i in range(len(columns))]
    lengths = [max(end - i * over.bucket_ns, 0.001) * 1000 for i, end in enumerate(ends)]
    # A bucket's last instruction may end in the next.
    heights = [
        [ps / length for ps in column] for column, length in zip(columns, lengths, strict=True)
    ]
    most = max(1.0, max(sum(column) for column in heights))
    y = LinearScale(0.0, most * 1.02, _TIME_BOTTOM, _TIME_TOP)
    x = LinearScale(0.0, ends[-1], _TIME_LEFT, _WIDTH - _RIGHT)
    content = [time_axis(x, _TIME_TOP, _TIME_BOTTOM), _levels(y)]
    below = [0.0] * len(heights)
    for at, cause in enumerate(causes):
        above = [base + column[at] for base, column in zip(below, heights, strict=True)]
        content.append(_layer(below, above, ends, over.bucket_ns, x, y, COLOURS[cause]))
        below = above
    return Picture(
        title="Where the time went, over time",
        svg=frame("".join(content), _WIDTH, _HEIGHT, "Threads busy over time, by cause"),
        targets=_time_targets(machine, causes, heights, ends, x, y),
        legend=[(COLOURS[cause], CAUSES[cause]) for cause in causes],
        wide=True,
    )


def _layer(
    below: Sequence[float],
    above: Sequence[float],
    ends: Sequence[float],
    bucket: float,
    x: LinearScale,
    y: LinearScale,
    colour: int,
) -> str:
    edges = [(x(i * bucket), x(end)) for i, end in enumerate(ends)]
    top = [(at, y(value)) for (a, b), value in zip(edges, above, strict=True) for at in (a, b)]
    bottom = [(at, y(value)) for (a, b), value in zip(edges, below, strict=True) for at in (a, b)]
    path = svg.curve([*top, *reversed(bottom)]) + "Z"
    return svg.element("path", d=path, class_=f"layer s{colour}")


def _levels(y: LinearScale) -> str:
    return svg.text("threads busy", _TIME_LEFT, _TIME_TOP - 9, class_="unit") + "".join(
        svg.line(_TIME_LEFT, y(tick.at), _WIDTH - _RIGHT, y(tick.at), "grid")
        + svg.text(tick.label, _TIME_LEFT - 8, y(tick.at) + 4, class_="tick y")
        for tick in linear_ticks(y.low, y.high, 4)
    )


def _time_targets(
    machine: Machine,
    causes: Sequence[str],
    heights: Sequence[Sequence[float]],
    ends: Sequence[float],
    x: LinearScale,
    y: LinearScale,
) -> list[Target]:
    over = machine.over_time
    unit, length = unit_of(ends[-1])
    targets: list[Target] = []
    for i, column in enumerate(heights):
        sum_ = sum(column)
        spent_ps = sum(over.stack_ps[cause][i] for cause in causes)
        rows = [("threads busy", f"{sum_:.2f}")]
        if spent_ps:
            ipc = over.instructions[i] / (spent_ps / machine.period_ps)
            rows.append(("instructions/cycle", f"{ipc:.2f}"))
        largest = sorted(zip(causes, column, strict=True), key=lambda pair: -pair[1])[:4]
        rows += [(CAUSES[cause], f"{100 * part / sum_:.0f} %") for cause, part in largest if part]
        middle = (i * over.bucket_ns + ends[i]) / 2
        at, height = round(x(middle), 1), round(y(sum_), 1)
        targets.append(
            (at, height, height, COLOURS[largest[0][0]], f"at {middle / length:.4g} {unit}", rows)
        )
    return targets
