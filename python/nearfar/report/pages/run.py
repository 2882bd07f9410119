"""A program's run as part of a page: where its time went, and what memory did for it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import PurePath

from nearfar.report.figures.figure import Figure, Line, Spot, draw
from nearfar.report.frame import Target, notes, tiles
from nearfar.report.heat import heat_map
from nearfar.report.histogram import latency_histogram
from nearfar.report.pages.probe import environment_section
from nearfar.report.picture import Picture, card
from nearfar.report.run import count, span
from nearfar.report.stack import stack_bars
from nearfar.report.stack_time import stack_over_time
from nearfar.report.time_axis import unit_of
from nearfar.results import RunResult, totals
from nearfar.results.machine import Concentration, Machine
from nearfar.results.run import RunProcess
from nearfar.results.wording import energy_shares, joules, number, size

_MOST = 4  # processes that are drawn


def program_title(ran: RunResult) -> str:
    """What stands above it."""
    return f"{PurePath(str(ran.program['file'])).name} on {ran.target.name}"


def program_body(
    ran: RunResult, prefix: str = "", first_chart: int = 0
) -> tuple[str, list[list[Target]]]:
    """Everything below the title, and what the pointer finds on its pictures."""
    machines = totals.simulated(ran)
    parts = [_lead(ran, [machine for _, machine in machines])]
    targets: list[list[Target]] = []
    for at, (process, machine) in enumerate(machines[:_MOST]):
        title = f"{_short(process.program)} (process {process.process})"
        title = title if len(machines) > 1 else ""
        body, found = _process(machine, title, f"{prefix}p{at}-", first_chart + len(targets))
        parts.append(body)
        targets += found
    parts.append(_processes(ran, prefix))
    parts.append(_executed(ran, prefix))
    parts.append(environment_section(ran, prefix))
    return "".join(parts), targets


def _lead(ran: RunResult, machines: Sequence[Machine]) -> str:
    command = " ".join(map(str, ran.program.get("arguments", ())))
    threads = sum(one.threads for one in ran.processes)
    about = (
        f"{ran.target.spec}, {ran.target.mode}, core {ran.core}; "
        f"{count(len(ran.processes), 'program')}, {count(threads, 'thread')}, "
        f"exit status {ran.exit_code}."
    )
    remarks = notes(
        [
            (ran.interrupted, "Interrupted: what was measured until then."),
            (
                ran.sample is not None,
                "Sampled: the pictures are of the windows and what warmed up.",
            ),
            *((True, f"{note[0].upper()}{note[1:]}.") for note in ran.notes),
        ]
    )
    shown = tiles([*_estimate(ran), *_figures(ran, machines)])
    return (
        f'<p class="lead"><code>{escape(command)}</code></p><p class="lead">{escape(about)}</p>'
        f'{remarks}<div class="lead-figures">{shown}</div>\n'
    )


def _estimate(ran: RunResult) -> list[tuple[str, str]]:
    """Time, and of a sample what it says of the whole program."""
    found = ran.sampled
    if found is None or found.cpi is None or found.cpi_interval is None:
        return [(span(ran.elapsed_ns), "of simulated time")]
    low, high = found.cpi_interval
    return [
        (span(found.busy_ns or 0.0), "of simulated time, by the sample's estimate"),
        (
            f"{found.cpi:.4g}",
            f"cycles an instruction, {low:.4g} to {high:.4g} with 95 % confidence, of all "
            f"{found.instructions:,}",
        ),
    ]


def _figures(ran: RunResult, machines: Sequence[Machine]) -> list[tuple[str, str]]:
    """The few numbers to begin with."""
    instructions = totals.instructions(machines)
    if not instructions:
        return [(f"{ran.counts.get('instructions', 0):,}", "instructions")]
    cycles = totals.cycles(machines)
    sum_ = sum(cycles.values())
    first = max(cycles, key=lambda cause: cycles[cause])
    found = [
        (f"{sum_ / instructions:.2f}", f"cycles an instruction, of {instructions:,}"),
        (f"{100 * cycles[first] / sum_:.0f} %", f"of the cycles went to {totals.CAUSES[first]}"),
    ]
    latency = totals.latency(machines)
    if latency.p99_ns is not None:
        found.append((span(latency.p99_ns), "99 % of the loads beyond L1 took no longer"))
    moved = totals.moved(machines)
    if moved:
        each = "; ".join(f"{m.tier}: {size(m.read)} read, {size(m.written)} written" for m in moved)
        found.append((size(sum(m.read + m.written for m in moved)), f"asked of memory. {each}"))
    cached = totals.cached(machines)
    if cached is not None:
        copied = f"copied {cached.copies_in:,} pages in and {cached.copies_out:,} out"
        found.append((f"{cached.faults:,}", f"page faults, which {copied}"))
    energy = totals.energy(machines)
    if energy:
        found.append((joules(sum(energy.values())), f"of energy: {energy_shares(energy)}"))
    return found


def _process(
    machine: Machine, title: str, prefix: str, first: int
) -> tuple[str, list[list[Target]]]:
    """The pictures of a machine, and its tables."""
    drawn: list[Picture | Figure | None] = [
        stack_bars(machine) if machine.core.counts.get("instructions") else None,
        stack_over_time(machine),
        _traffic(machine),
        latency_histogram(machine.load_latency),
        heat_map(machine.memory),
        _concentration(machine.memory.hot_pages, "How many pages are hot", "pages", "lines"),
        _concentration(
            machine.memory.written_blocks,
            "How many blocks wear",
            "blocks of 256 B",
            "lines written to far memory",
        ),
    ]
    cards, targets = [], []
    for at, one in enumerate(one for one in drawn if one is not None):
        picture = one if isinstance(one, Picture) else as_picture(one)
        cards.append(card(picture, f"{prefix}picture-{at}", first + at))
        targets.append(list(picture.targets))
    heading = f"<h2>{escape(title)}</h2>" if title else ""
    return (
        f'<section id="{prefix}pictures" class="curves pictures">{heading}{"".join(cards)}'
        f"{_hits(machine)}{_energy(machine)}</section>\n",
        targets,
    )


def as_picture(figure: Figure) -> Picture:
    """A figure as a picture in a card."""
    picture = draw(figure)
    legend = [(index, line.label) for index, line in enumerate(figure.lines)]
    return Picture(
        title=figure.title,
        svg=picture,
        targets=figure.targets,
        note=figure.note,
        legend=legend if len(legend) > 1 else (),
        head=("", "at", *(name for name, _ in figure.lines[0].spots[0].rows)),
        rows=[
            (line.label, spot.label, *(shown for _, shown in spot.rows))
            for line in figure.lines
            for spot in line.spots
        ],
    )


def _traffic(machine: Machine) -> Figure | None:
    """GB/s by tier and direction; None when there was none."""
    over = machine.over_time
    unit, length = unit_of(machine.time_ns)
    lines = []
    for name, lines_moved in (
        ("far, read", over.far_reads),
        ("far, written", over.far_writes),
        ("near, read", over.near_reads),
        ("near, written", over.near_writes),
    ):
        if any(lines_moved):
            lines.append(Line(name, _spots(lines_moved, machine, unit, length)))
    if not lines:
        return None
    return Figure(
        *("", "Traffic over time", f"simulated time, {unit}", "", "GB/s"),
        lines,
        (),
        log_x=False,
        log_y=False,
    )


def _spots(lines: Sequence[int], machine: Machine, unit: str, length: float) -> list[Spot]:
    """One in the middle of each bucket."""
    spots = []
    for moved, (begin, end) in zip(lines, totals.buckets(machine), strict=True):
        middle = (begin + end) / 2 / length
        gb_per_s = moved * totals.LINE / (end - begin)
        rows = (("bandwidth", f"{gb_per_s:.3f} GB/s"), ("lines", f"{moved:,}"))
        spots.append(Spot(middle, gb_per_s, f"{middle:.4g} {unit}", rows))
    return spots


def _concentration(found: Concentration, title: str, what: str, lines: str) -> Figure | None:
    """The share that the hottest take; None where there are too few for a curve."""
    if len(found.most) < 3:
        return None
    total = found.sums[-1]
    spots = [
        Spot(
            most,
            100 * taken / total,
            f"the hottest {most:,} {what}",
            (("take", f"{100 * taken / total:.1f} %"), (lines, f"{taken:,}")),
        )
        for most, taken in zip(found.most, found.sums, strict=True)
    ]
    return Figure(
        *("", title, f"hottest {what}", "", f"% of {lines}"),
        [Line(what, spots)],
        (),
        log_y=False,
    )


def _hits(machine: Machine) -> str:
    rows = "".join(
        f'<tr><th scope=row>{escape(name)}<td><span class="meter" aria-hidden="true">'
        f'<i style="width:{100 * served / asked:.1f}%"></i></span>{100 * served / asked:.1f} %'
        f"<td>{served:,}<td>{asked:,}</tr>"
        for name, (served, asked) in machine.hits.items()
    )
    if not rows:
        return ""
    return (
        '<article><h3>Hits</h3><div class="scroll"><table><thead><tr><th scope=col>'
        f"<th scope=col>Rate<th scope=col>Hits<th scope=col>Asked</tr></thead><tbody>{rows}"
        f"</tbody></table></div>{_media(machine)}</article>\n"
    )


def _media(machine: Machine) -> str:
    """What moved at the media for what was asked of them."""
    if machine.media_read_bytes is None or machine.media_write_bytes is None:
        return ""
    parts = []
    for verb, bytes_, ratio in (
        ("read", machine.media_read_bytes, machine.read_amplification),
        ("written", machine.media_write_bytes, machine.write_amplification),
    ):
        times = f", {number(ratio)} times what was asked" if ratio is not None else ""
        parts.append(f"{size(bytes_)} {verb}{times}")
    return f'<p class="keys">At the media: {escape("; ".join(parts))}.</p>'


def _energy(machine: Machine) -> str:
    if machine.energy_pj is None:
        return ""
    rows = "".join(
        f'<tr><th scope=row>{escape(name)}<td><span class="meter" aria-hidden="true">'
        f'<i style="width:{100 * part / machine.energy_pj:.1f}%"></i></span>'
        f"{100 * part / machine.energy_pj:.1f} %<td>{joules(part)}</tr>"
        for name, part in sorted(machine.energy.items(), key=lambda item: -item[1])
        if part
    )
    facts = [joules(machine.energy_pj)]
    if machine.average_power_w is not None:
        facts.append(f"{number(machine.average_power_w)} W on average")
    if machine.energy_pj_per_bit is not None:
        facts.append(f"{number(machine.energy_pj_per_bit)} pJ a bit moved")
    return (
        f'<article><h3>Energy</h3><p class="keys">{escape(", ".join(facts))}</p>'
        '<div class="scroll"><table><thead><tr><th scope=col>Went into<th scope=col>Share'
        f"<th scope=col>Energy</tr></thead><tbody>{rows}</tbody></table></div></article>\n"
    )


def _short(program: str) -> str:
    """Without its folder."""
    return PurePath(program).name or program


def _processes(ran: RunResult, prefix: str) -> str:
    """All of them in a table, if there are several."""
    if len(ran.processes) < 2:
        return ""
    rows = "".join(_process_row(one) for one in ran.processes)
    return (
        f'<section id="{prefix}processes"><h2>Processes</h2><div class="card"><div class="scroll">'
        "<table><thead><tr><th scope=col>Process<th scope=col class=words>Program"
        "<th scope=col>Threads<th scope=col>From<th scope=col>To"
        "<th scope=col>Instructions<th scope=col>Cycles/instruction</tr></thead>"
        f"<tbody>{rows}</tbody></table></div></div></section>\n"
    )


def _process_row(one: RunProcess) -> str:
    each = ""
    if one.machine is not None and one.machine.core.counts.get("instructions"):
        machines = [one.machine]
        each = f"{sum(totals.cycles(machines).values()) / totals.instructions(machines):.2f}"
    return (
        f"<tr><th scope=row>{one.process}<td class=words>{escape(_short(one.program))}"
        f"<td>{one.threads}<td>{span(one.start_ns)}<td>{span(one.end_ns)}"
        f"<td>{one.counts.get('instructions', 0):,}<td>{each}</tr>"
    )


def _executed(ran: RunResult, prefix: str) -> str:
    rows = "".join(
        f"<tr><th scope=row>{escape(name.replace('_', ' '))}<td>{n:,}</tr>"
        for name, n in ran.counts.items()
        if n
    )
    return (
        f'<section id="{prefix}executed"><h2>Executed</h2><details><summary>What the program '
        f'did</summary><div class="scroll"><table><tbody>{rows}</tbody></table></div></details>'
        "</section>\n"
    )
