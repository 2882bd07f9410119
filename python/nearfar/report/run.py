"""What a program did on a simulated machine, as text: where the time went comes first."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.report.text import table
from nearfar.results import totals
from nearfar.results.machine import Concentration, Machine
from nearfar.results.run import WARM_LONGER, RunGuest, RunProcess, RunResult, Sampled
from nearfar.results.wording import energy_shares, joules, number, size

# Counts worth a line even in a short report, and how they are called there.
_SHOWN = (
    ("instructions", "instructions"),
    ("loads", "loads"),
    ("stores", "stores"),
    ("nt_stores", "non-temporal stores"),
    ("atomics", "atomics"),
    ("clwb", "clwb"),
    ("clflushopt", "clflushopt"),
    ("clflush", "clflush"),
    ("store_fences", "sfence"),
    ("full_fences", "mfence"),
    ("system_calls", "system calls"),
)

_MOST_PROCESSES = 16
_LONGEST_NAME = 40


def run_text(ran: RunResult) -> str:
    """What ran, where its time went, what memory did for it, and what it executed."""
    threads = sum(process.threads for process in ran.processes)
    state = "interrupted" if ran.interrupted else f"status {ran.exit_code}"
    machines = [machine for _, machine in totals.simulated(ran)]
    head = (
        f"{ran.program['file']} on {ran.target.spec}, core {ran.core}: {state}, "
        f"{span(_simulated(ran, machines))} simulated\n"
    )
    if ran.guest is None:
        head += (
            f"{count(len(ran.processes), 'program')} in "
            f"{count(len({p.process for p in ran.processes}), 'process', 'processes')}, "
            f"{count(threads, 'thread')}\n"
        )
    else:
        head += f"a machine of {size(ran.guest.memory_bytes)}, {_shares(ran.guest)}\n"
    part = _window(ran) + _sample(ran)
    return head + part + _machines(machines) + _executed(ran) + _processes(ran)


def _simulated(ran: RunResult, machines: Sequence[Machine]) -> float:
    """Of a guest what was measured: what comes before its region is passed over."""
    if ran.guest is not None and machines:
        return machines[0].time_ns
    return ran.elapsed_ns


def _shares(guest: RunGuest) -> str:
    """Of its busy time; of its instructions where no core was simulated."""
    busy = {side: share.busy_ns for side, share in guest.shares.items()}
    if not any(busy.values()):
        busy = {side: share.instructions for side, share in guest.shares.items()}
    everything = sum(busy.values())
    parts = [f"{side} {_percent(part, everything)}" for side, part in busy.items() if part]
    return ", ".join(parts) or "nothing executed"


def _window(ran: RunResult) -> str:
    """Which part of each program all figures are of, unless it is the whole."""
    if ran.window is None:
        return ""
    skip, warm, run = (ran.window[name] for name in ("skip", "warm", "run"))
    length = f"the {run:,} instructions" if run else "all instructions"
    return f"measured: of each program {length} behind {skip:,} skipped and {warm:,} to warm up\n"


def _sample(ran: RunResult) -> str:
    """What a sample says of all, and that what follows is of the sample."""
    if ran.sample is None:
        return ""
    every, warm, run = (ran.sample[name] for name in ("every", "warm", "run"))
    windows = sum(len(one.sampled.windows) for one in ran.processes if one.sampled is not None)
    rate = f", one of {every:,}" if every else ""
    lines = [
        f"sampled: {count(windows, 'window')} of {run:,} instructions{rate}, each behind {warm:,} "
        "to warm up"
    ]
    found = ran.sampled
    if found is not None and found.cpi is not None and found.cpi_interval is not None:
        low, high = found.cpi_interval
        half = 100 * (high - low) / 2 / found.cpi
        lines.append(
            f"all {found.instructions:,} instructions: {found.cpi:.4g} cycles each, "
            f"{low:.4g} to {high:.4g} with 95 % confidence (± {half:.1f} %)"
        )
    if found is not None and found.busy_ns is not None and found.busy_interval_ns is not None:
        least, most = map(span, found.busy_interval_ns)
        lines.append(f"their time: {span(found.busy_ns)}, {least} to {most}")
    lines += _check(found)
    lines.append("the figures below are of the windows and what warmed up for them")
    return "".join(f"{line}\n" for line in lines)


def _check(found: Sampled | None) -> list[str]:
    """What a longer warm-up changed."""
    if found is None or not found.checked or found.cpi is None or not found.windows_cpi:
        return ["the warm-up was not checked: there are too few windows for that"]
    change, error = (
        100 * part / found.windows_cpi
        for part in (found.cpi - found.windows_cpi, found.check_error or 0.0)
    )
    return [
        f"warm-up: {WARM_LONGER} times as much, before {count(found.checked, 'window')}, changed "
        f"cycles by {change:+.1f} % (± {error:.1f} %), which is in these figures"
    ]


def _processes(ran: RunResult) -> str:
    """The busiest, with the cycles of their cores, or by instructions where none are simulated."""
    if len(ran.processes) < 2:
        return ""
    cycles = {id(one): sum(totals.cycles([m]).values()) for one, m in totals.simulated(ran)}

    def weight(one: RunProcess) -> float:
        return cycles.get(id(one), 0.0) if cycles else one.counts.get("instructions", 0)

    everything = sum(map(weight, ran.processes))
    busiest = sorted(ran.processes, key=lambda one: -weight(one))
    rows = [
        (
            _short(one.program),
            str(one.process),
            f"{one.counts.get('instructions', 0):,}",
            f"{cycles[id(one)]:,.0f}" if id(one) in cycles else "",
            _percent(weight(one), everything),
        )
        for one in busiest[:_MOST_PROCESSES]
    ]
    more = len(busiest) - len(rows)
    note = f"...and {more} more; --json has them all\n" if more else ""
    header = ("programs", "process", "instructions", "cycles", "")
    return "\n" + table(header, rows, "<>>>>") + note


def _short(name: str) -> str:
    """The end tells programs apart."""
    return name if len(name) <= _LONGEST_NAME else f"...{name[-_LONGEST_NAME + 3 :]}"


def _machines(machines: Sequence[Machine]) -> str:
    if not machines or not totals.instructions(machines):
        return ""
    return "\n".join(
        part
        for part in ("", _stack(machines), _memory(machines), _facts(machines), "")
        if part or part == ""
    )


def _stack(machines: Sequence[Machine]) -> str:
    """Cycles an instruction by cause; causes of less than half a per mille are left out."""
    instructions = totals.instructions(machines)
    cycles = totals.cycles(machines)
    everything = sum(cycles.values())
    rows = [
        (
            totals.CAUSES.get(cause, cause),
            f"{spent / instructions:.3f}",
            _percent(spent, everything),
        )
        for cause, spent in sorted(cycles.items(), key=lambda item: -item[1])
        if spent >= 0.0005 * everything
    ]
    rows.append(("all", f"{everything / instructions:.3f}", ""))
    return table(("where the time went", "cycles/instruction", ""), rows, "<>>")


def _memory(machines: Sequence[Machine]) -> str:
    moved = totals.moved(machines)
    if not moved:
        return ""
    seconds = sum(one.time_ns for one in machines)
    rows = []
    for one in moved:
        bytes_ = sum(getattr(m.memory, f"{one.tier}_bytes") for m in machines)
        rows.append(
            (
                one.tier,
                size(one.read),
                size(one.written),
                f"{(one.read + one.written) / seconds:.3f}",
                size(bytes_),
            )
        )
    return table(("memory", "read", "written", "GB/s", "in use"), rows, "<>>>>")


def _facts(machines: Sequence[Machine]) -> str:
    rows = [
        *_latency(machines),
        *_load_cost(machines),
        *_hits(machines),
        *_amplification(machines),
        *_energy(machines),
        *_hot(machines),
        *_paging(machines),
    ]
    width = max((len(name) for name, _ in rows), default=0)
    return "".join(f"{name:{width}}  {value}\n" for name, value in rows)


def _latency(machines: Sequence[Machine]) -> list[tuple[str, str]]:
    found = totals.latency(machines)
    if not found.count:
        return []
    parts = (
        ("p50", found.p50_ns),
        ("p90", found.p90_ns),
        ("p99", found.p99_ns),
        ("p99.9", found.p999_ns),
        ("max", found.max_ns),
    )
    text = ", ".join(f"{name} {span(ns)}" for name, ns in parts if ns is not None)
    return [("loads beyond L1", text)]


def _load_cost(machines: Sequence[Machine]) -> list[tuple[str, str]]:
    """Of the busiest process."""
    cost = machines[0].load_cost
    if cost is None:
        return []
    times = cost.cycles_per_load / cost.cycles_per_other if cost.cycles_per_other else 0
    return [
        (
            "a load",
            f"{cost.cycles_per_load:.2f} cycles, {cost.llc_cycles_per_load:.2f} of them for misses "
            f"of the last cache and {cost.tlb_cycles_per_load:.2f} for translations: "
            f"{times:.1f} times another instruction's {cost.cycles_per_other:.2f}"
            f"{_whose(machines)}",
        ),
        (
            "misses",
            f"{cost.llc_misses_per_1000:.2f} of the last cache and {cost.tlb_misses_per_1000:.2f} "
            f"of the TLBs a thousand instructions{_whose(machines)}",
        ),
    ]


def _whose(machines: Sequence[Machine]) -> str:
    return "" if len(machines) == 1 else " (the busiest process)"


def _hits(machines: Sequence[Machine]) -> list[tuple[str, str]]:
    found = totals.hits(machines)
    text = ", ".join(f"{name} {_percent(*pair)}" for name, pair in found.items())
    return [("hits", text)] if text else []


def _amplification(machines: Sequence[Machine]) -> list[tuple[str, str]]:
    """Bytes at the media, and how often what was asked for; that cannot be added up."""
    parts = []
    for what, bytes_, ratios in (
        (
            "read",
            [one.media_read_bytes for one in machines],
            [one.read_amplification for one in machines],
        ),
        (
            "written",
            [one.media_write_bytes for one in machines],
            [one.write_amplification for one in machines],
        ),
    ):
        known = [found for found in bytes_ if found is not None]
        if not known:
            return []
        ratio = ratios[0] if len(ratios) == 1 else None
        times = "" if ratio is None else f" ({number(ratio)} times what was asked)"
        parts.append(f"{size(sum(known))} {what}{times}")
    return [("media", ", ".join(parts))]


def _energy(machines: Sequence[Machine]) -> list[tuple[str, str]]:
    parts = totals.energy(machines)
    if not parts:
        return []
    watts = sum(parts.values()) / sum(one.time_ns * 1000 for one in machines)
    text = f"{joules(sum(parts.values()))}, {number(watts)} W"
    return [("energy", f"{text} ({energy_shares(parts)})")]


def _hot(machines: Sequence[Machine]) -> list[tuple[str, str]]:
    """The first two are of the busiest process."""
    memory = machines[0].memory
    whose = "" if len(machines) == 1 else " of the busiest process"
    found = (
        ("hot pages", _half(memory.hot_pages, "accesses to memory", "pages")),
        ("wear", _half(memory.written_blocks, "writes to far memory", "blocks of 256 B")),
    )
    rows = [(title, f"{text}{whose}") for title, text in found if text]
    written = memory.written_lines
    if written.writes:
        moves = (
            f", and their blocks {_percent(written.moves_of_these(), written.moves)} of the moves"
            if written.moves
            else ""
        )
        rows.append(
            (
                f"{len(written.lines)} hottest lines",
                f"{_percent(written.writes_of_these(), written.writes)} of the writes go to so "
                f"many of {written.count:,} lines of 64 B{moves}{whose}",
            )
        )
    moved = sum(one.memory.pages_moved for one in machines)
    if moved:
        rows.append(("pages moved", f"{moved:,}"))
    return rows


def _paging(machines: Sequence[Machine]) -> list[tuple[str, str]]:
    """Of near memory as a cache of pages, and of cores that waited for pages to be moved."""
    rows = []
    cached = totals.cached(machines)
    if cached is not None:
        touched = cached.hits + cached.faults
        rows.append(
            (
                "near as a cache",
                f"{_percent(cached.hits, touched)} of {touched:,} accesses hit; "
                f"{cached.faults:,} faults, {cached.first_touches:,} of them first touches; "
                f"pages copied: {cached.copies_in:,} in, {cached.copies_out:,} out; "
                f"{cached.clean_drops:,} dropped clean",
            )
        )
    held = sum(one.memory.held_blocks for one in machines)
    if held:
        rows.append(("held up", f"{held:,} times, by pages that waited to be copied"))
    return rows


def _half(found: Concentration, accesses: str, what: str) -> str:
    """How few take half of it."""
    most, every, share = totals.needed_for(found, 0.5)
    if not every:
        return ""
    return f"{100 * share:.0f} % of the {accesses} go to {most:,} of {every:,} {what}"


def _executed(ran: RunResult) -> str:
    """Kinds that did not occur are left out."""
    rows = []
    for key, name in _SHOWN:
        executed = ran.counts.get(key, 0)
        if executed:
            bytes_ = ran.counts.get(f"{key[:-1]}_bytes")
            rows.append((name, f"{executed:,}", "" if bytes_ is None else f"{bytes_:,} bytes"))
    return table(("executed", "", ""), rows, "<>>")


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""


def span(ns: float) -> str:
    """A time in the unit that keeps it above 1."""
    for unit, length in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= length:
            return f"{ns / length:.4g} {unit}"
    return f"{ns:.4g} ns"


def count(many: int, one: str, more: str | None = None) -> str:
    """A number and what it counts."""
    return f"{many} {one}" if many == 1 else f"{many} {more or one + 's'}"
