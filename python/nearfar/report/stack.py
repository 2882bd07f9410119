"""Where cycles went: a bar for all threads, and one for each."""

from __future__ import annotations

from collections.abc import Mapping

from nearfar.report import svg
from nearfar.report.frame import Target
from nearfar.report.picture import Picture, frame
from nearfar.report.scale import LinearScale, linear_ticks
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
    "paging": 9,
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
